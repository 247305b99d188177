// Makes the record of a new extension: the intent, before its provider is asked.
import type { CreateExtensionRequest } from '../../contract/extension-records.ts';
import type { Clock } from '../../core/clock.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { createExtensionProviderStore } from '../extension-providers/extension-provider-store.ts';
import { toProviderTurn } from '../extension-providers/provider-registration.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { Storage } from '../storage/storage.ts';
import { noPrivateNetworks } from './address-of.ts';
import { checkApp } from './check-app.ts';
import type { ExtensionRow } from './extension-row.ts';
import { createExtensionStore } from './extension-store.ts';
import { toNewRow } from './new-row.ts';
import type { ProvisioningUser } from './provisioning-user.ts';

export interface CreateExtensionDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly hasPrivateNetworks: boolean;
  readonly clock: Clock;
}

/** Bounds the extensions of one organization. */
export const EXTENSIONS_MAX = 20_000;

/** Throws `invalid_request` naming the field, `already_exists`, `limit_reached`, and `not_implemented` for a private address that nobody serves here. */
export async function createExtension(
  { storage, hasPrivateNetworks, clock }: CreateExtensionDeps,
  organization: Organization,
  given: CreateExtensionRequest,
  user: ProvisioningUser,
): Promise<ExtensionRow> {
  const { provider, name, app = null, primary_region = null, read_regions = [] } = given;
  const { id: organization_id } = organization;
  if (given.private_address === true && !hasPrivateNetworks) throw noPrivateNetworks();
  return await storage.transaction(async (sql) => {
    const store = createExtensionStore(sql);
    const known = await createExtensionProviderStore(sql).find(provider);
    if (known === undefined) throw refuseField('body.provider', `there is no extension provider ${provider} here`);
    if (given.private_address === true && known.app === null) {
      throw refuseField('body.private_address', `the provider ${provider} does not run on this platform`);
    }
    if (app !== null) await checkApp(sql, organization, app);
    const count = await store.count(organization_id);
    if (count >= EXTENSIONS_MAX) {
      const details = { limit: EXTENSIONS_MAX };
      throw new RemoraError('limit_reached', `the organization has ${count} extensions; delete one first`, { details });
    }
    const asked = { organization_id, provider, name, app, primary_region, read_regions, ...user };
    const row = toNewRow(clock.wall_ms(), asked);
    if (await store.insert(row)) return row;
    const field = 'body.name';
    const message = `there is an extension ${name} already; names are those of the whole platform`;
    throw new RemoraError('already_exists', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
  }, toProviderTurn(provider));
}
