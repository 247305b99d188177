// Gives an organization another display name, of which the providers of its extensions are told.
import { createOrganizationStore } from '../organizations/organization-store.ts';
import type { CreateExtensionDeps } from './create-extension.ts';

/** What a provider is being asked now is told afterwards: its revision is another one then. */
const tell = `
UPDATE extensions SET revision = revision + 1, updated_at = $2,
  step = CASE WHEN state = 'ready' THEN 'update' ELSE step END,
  due_at = CASE WHEN state = 'ready' THEN $2 ELSE due_at END,
  tries = CASE WHEN state = 'ready' THEN 0 ELSE tries END,
  begun_at = CASE WHEN state = 'ready' THEN $2 ELSE begun_at END,
  state = CASE WHEN state = 'ready' THEN 'updating' ELSE state END
WHERE organization_id = $1 AND state NOT IN ('deleting', 'deleted')`;

/** Throws `not_found`. */
export async function renameOrganization(
  { storage, clock }: Pick<CreateExtensionDeps, 'storage' | 'clock'>,
  organization_id: string,
  display_name: string | null,
): Promise<void> {
  await storage.transaction(async (sql) => {
    const organizations = createOrganizationStore(sql);
    const before = await organizations.find(organization_id);
    await organizations.setDisplayName(organization_id, display_name);
    if (before?.display_name !== display_name) await sql.run(tell, [organization_id, clock.wall_ms()]);
  });
}
