// The apps of every organization. A name belongs to one organization.
import type { Sql } from '../storage/storage.ts';

export interface AppRow {
  readonly name: string;
  readonly organization_id: string;
  /** How many machines it has. */
  readonly machines: number;
  readonly created_at: number;
}

export type NewApp = Pick<AppRow, 'name' | 'organization_id'>;

export interface AppStore {
  /** False when the name is taken. */
  insert(app: NewApp, now_ms: number): Promise<boolean>;
  find(name: string): Promise<AppRow | undefined>;
  /** Sorted by name. */
  list(organization_id: string): Promise<readonly AppRow[]>;
  count(organization_id: string): Promise<number>;
  countVolumes(organization_id: string, name: string): Promise<number>;
  delete(name: string): Promise<void>;
}

const select = `SELECT a.name, a.organization_id, a.created_at, (
  SELECT count(*) FROM machines m WHERE m.organization_id = a.organization_id AND m.app = a.name) AS machines
FROM apps a`;

export function createAppStore(sql: Sql): AppStore {
  return {
    async insert({ name, organization_id }, now_ms) {
      const text = 'INSERT INTO apps (name, organization_id, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING';
      return (await sql.run(text, [name, organization_id, now_ms])) > 0;
    },
    find: (name) => sql.one<AppRow>(`${select} WHERE a.name = $1`, [name]),
    list: (organization_id) =>
      sql.all<AppRow>(`${select} WHERE a.organization_id = $1 ORDER BY a.name`, [organization_id]),
    async count(organization_id) {
      const text = 'SELECT count(*) AS count FROM apps WHERE organization_id = $1';
      return (await sql.one<{ readonly count: number }>(text, [organization_id]))?.count ?? 0;
    },
    async countVolumes(organization_id, name) {
      const text = 'SELECT count(*) AS count FROM volumes WHERE organization_id = $1 AND app = $2';
      return (await sql.one<{ readonly count: number }>(text, [organization_id, name]))?.count ?? 0;
    },
    async delete(name) {
      await sql.run('DELETE FROM apps WHERE name = $1', [name]);
    },
  };
}
