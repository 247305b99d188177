// The app that gets the variables of an extension.
import { refuseField } from '../../core/refuse-field.ts';
import { createAppStore } from '../apps/app-store.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { Sql } from '../storage/storage.ts';

/** Throws `invalid_request` for an app that is not there, and for one of another organization. */
export async function checkApp(sql: Sql, organization: Organization, app: string): Promise<void> {
  const found = await createAppStore(sql).find(app);
  if (found?.organization_id !== organization.id) throw refuseField('body.app', `there is no app ${app}`);
}
