// Makes an organization together with the app that is named like it.
import { RemoraError } from '../../core/remora-error.ts';
import { createOrganizationStore, type Organization } from '../organizations/organization-store.ts';
import type { Storage } from '../storage/storage.ts';
import { createAppStore } from './app-store.ts';

/**
 * Throws `invalid_request` for a malformed name, and `already_exists` for one that an organization has. Where another organization has an
 * app of the name, `refuse` throws `already_exists` too; `allow` makes the organization, and its sprites must name an app.
 */
export async function createOrganization(
  storage: Pick<Storage, 'transaction'>,
  slug: string,
  now_ms: number,
  clash: 'refuse' | 'allow',
): Promise<Organization> {
  return await storage.transaction(async (sql) => {
    const organization = await createOrganizationStore(sql).create(slug, now_ms);
    const app = { name: slug, organization_id: organization.id };
    if ((await createAppStore(sql).insert(app, now_ms)) || clash === 'allow') return organization;
    const message = `another organization has an app ${slug}, and each organization has one of its own name; take another`;
    throw new RemoraError('already_exists', message);
  });
}
