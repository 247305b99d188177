// Finds the app that a new sprite goes into.
import { RemoraError } from '../../core/remora-error.ts';
import type { Organization } from '../organizations/organization-store.ts';
import type { Sql } from '../storage/storage.ts';
import { createAppStore } from './app-store.ts';

/**
 * `sql` is that of a transaction in the turn of the app. Throws `not_found`. An organization that a platform of an earlier version made
 * gets its own app here.
 */
export async function findAppOfSprite(
  sql: Sql,
  organization: Organization,
  name: string,
  now_ms: number,
): Promise<string> {
  const apps = createAppStore(sql);
  const found = await apps.find(name);
  const { id: organization_id, slug } = organization;
  if (found === undefined && name === slug && (await apps.insert({ name, organization_id }, now_ms))) return name;
  if (found?.organization_id === organization_id) return name;
  const message =
    name === slug
      ? `another organization has the app ${slug}; make an app of another name, and name it in the field app`
      : `there is no app ${name} in the organization ${slug}; make it first`;
  throw new RemoraError('not_found', message);
}
