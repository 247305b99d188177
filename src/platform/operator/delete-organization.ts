// Deletes an organization with everything that is its own.
import { RemoraError } from '../../core/remora-error.ts';
import type { ConnectorService } from '../connectors/connector-service.ts';
import type { ExtensionService } from '../extensions/extension-service.ts';
import type { VolumeService } from '../machines-api/volume-service.ts';
import { createOrganizationStore, type Organization } from '../organizations/organization-store.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { Storage } from '../storage/storage.ts';

export interface DeleteOrganizationDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly sprites: Pick<SpriteStore, 'list'>;
  readonly spriteService: Pick<SpriteService, 'delete'>;
  readonly connectorService: Pick<ConnectorService, 'list' | 'delete'>;
  readonly volumeService: Pick<VolumeService, 'removeAll'>;
  readonly extensions: Pick<ExtensionService, 'deleteAll' | 'hasSome'>;
}

const BATCH = 100;

/**
 * Throws `conflict` without `force` while the organization has sprites, connectors or extensions. With it each is deleted as its own operation does
 * it, so that machines end and credentials are revoked; what was deleted before a failure stays deleted, and the call can be repeated.
 */
export async function deleteOrganization(
  { storage, sprites, spriteService, connectorService, volumeService, extensions }: DeleteOrganizationDeps,
  organization: Organization,
  force: boolean,
): Promise<void> {
  const { id } = organization;
  const listSprites = () => sprites.list({ organization_id: id, prefix: '', after: '', limit: BATCH, all: true });
  const connectors = await connectorService.list(id);
  let batch = await listSprites();
  const isEmpty = batch.length === 0 && connectors.length === 0 && !(await extensions.hasSome(id));
  if (!force && !isEmpty) {
    throw new RemoraError(
      'conflict',
      `the organization ${organization.slug} still has sprites, connectors or extensions; delete them, or say that they go with it ` +
        '(force=true, or --force)',
    );
  }
  for (const connector of connectors) await connectorService.delete(id, connector.id);
  for (; batch.length > 0; batch = await listSprites()) {
    for (const { name } of batch) await spriteService.delete(organization, name);
  }
  if (force) {
    await extensions.deleteAll(id);
    await volumeService.removeAll(id);
  }
  await storage.transaction((sql) => createOrganizationStore(sql).delete(id));
}
