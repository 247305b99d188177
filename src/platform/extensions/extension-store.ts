// The extensions of every organization: made, found, listed and changed.
import type { Sql, SqlValue } from '../storage/storage.ts';
import { type ExtensionRow, ID_PREFIX, parseExtensionRow, type StoredExtension } from './extension-row.ts';

/** What a change writes; what it does not name stays. */
export type ExtensionChange = Partial<Omit<ExtensionRow, 'id' | 'organization_id' | 'provider' | 'created_at'>>;

export interface ExtensionPosition {
  readonly created_at: number;
  readonly id: string;
}

export interface ExtensionPage {
  readonly organization_id: string;
  readonly after: ExtensionPosition | undefined;
  readonly limit: number;
}

export interface ExtensionStore {
  /** False when another extension has the name, or the id at the provider. */
  insert(row: ExtensionRow): Promise<boolean>;
  find(id: string): Promise<ExtensionRow | undefined>;
  /** `id`: the id, or the name of one that is not deleted. */
  findOf(organization_id: string, id: string): Promise<ExtensionRow | undefined>;
  findByName(name: string): Promise<ExtensionRow | undefined>;
  /** Whether a provider may give an extension this name: no other one has it, and it cannot be taken for the id of one. */
  isFree(name: string): Promise<boolean>;
  /** `resource_id`: the id at the provider, or our own where the provider has not said another one. */
  findAtProvider(provider: string, resource_id: string): Promise<ExtensionRow | undefined>;
  /** The same as `findAtProvider`, and locks the row as `lock` does. */
  lockAtProvider(provider: string, resource_id: string): Promise<ExtensionRow | undefined>;
  /** Locks the row until the transaction ends, and reads it. */
  lock(id: string): Promise<ExtensionRow | undefined>;
  update(id: string, change: ExtensionChange, now_ms: number): Promise<void>;
  /** Extensions that are not deleted, in the order in which they were made. */
  page(page: ExtensionPage): Promise<readonly ExtensionRow[]>;
  /** How many the organization has that are not being deleted. */
  countKept(organization_id: string): Promise<number>;
  /** How many the organization has. */
  count(organization_id: string): Promise<number>;
  /** How many the provider has. */
  countOf(provider: string, organization_id?: string): Promise<number>;
  /** Forgets what was deleted before `before_ms`. */
  forgetDeleted(organization_id: string, before_ms: number): Promise<void>;
}

const live = "state <> 'deleted'";

export function createExtensionStore(sql: Sql): ExtensionStore {
  const one = async (where: string, values: readonly SqlValue[]) => {
    const found = await sql.one<StoredExtension>(`SELECT * FROM extensions WHERE ${where}`, values);
    return found === undefined ? undefined : parseExtensionRow(found);
  };
  /** A write takes the lock on every database, and reads what was committed before it. */
  const lock = async (where: string, values: readonly SqlValue[]) => {
    const text = `UPDATE extensions SET updated_at = updated_at WHERE ${where} RETURNING *`;
    const found = await sql.one<StoredExtension>(text, values);
    return found === undefined ? undefined : parseExtensionRow(found);
  };
  const findByName = (name: string) => one(`name = $1 AND ${live}`, [name]);
  return {
    async insert(row) {
      const fields = { id: row.id, organization_id: row.organization_id, provider: row.provider, ...toFields(row) };
      const written = { ...fields, created_at: row.created_at, updated_at: row.updated_at };
      const names = Object.keys(written);
      const places = names.map((_, index) => `$${index + 1}`);
      const text = `INSERT INTO extensions (${names.join(', ')}) VALUES (${places.join(', ')}) ON CONFLICT DO NOTHING`;
      return (await sql.run(text, Object.values(written))) > 0;
    },
    find: (id) => one('id = $1', [id]),
    findOf: async (organization_id, id) =>
      (await one('organization_id = $1 AND id = $2', [organization_id, id])) ??
      (await one(`organization_id = $1 AND name = $2 AND ${live}`, [organization_id, id])),
    findByName,
    isFree: async (name) => name !== '' && !name.startsWith(ID_PREFIX) && (await findByName(name)) === undefined,
    findAtProvider: async (provider, resource_id) =>
      (await one(`provider = $1 AND provider_id = $2 AND ${live}`, [provider, resource_id])) ??
      (await one(`provider = $1 AND id = $2 AND provider_id IS NULL AND ${live}`, [provider, resource_id])),
    lockAtProvider: async (provider, resource_id) =>
      (await lock(`provider = $1 AND provider_id = $2 AND ${live}`, [provider, resource_id])) ??
      (await lock(`provider = $1 AND id = $2 AND provider_id IS NULL AND ${live}`, [provider, resource_id])),
    lock: (id) => lock('id = $1', [id]),
    async update(id, change, now_ms) {
      const fields = { ...toFields(change), updated_at: now_ms };
      const names = Object.keys(fields);
      const list = names.map((name, index) => `${name} = $${index + 2}`).join(', ');
      await sql.run(`UPDATE extensions SET ${list} WHERE id = $1`, [id, ...Object.values(fields)]);
    },
    async page({ organization_id, after = { created_at: -1, id: '' }, limit }) {
      const text = `SELECT * FROM extensions WHERE organization_id = $1 AND ${live}
        AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4`;
      const values = [organization_id, after.created_at, after.id, limit];
      return (await sql.all<StoredExtension>(text, values)).map(parseExtensionRow);
    },
    async countKept(organization_id) {
      const text = `SELECT count(*) AS count FROM extensions WHERE organization_id = $1 AND ${live} AND state <> 'deleting'`;
      return (await sql.one<{ readonly count: number }>(text, [organization_id]))?.count ?? 0;
    },
    async count(organization_id) {
      const text = `SELECT count(*) AS count FROM extensions WHERE organization_id = $1 AND ${live}`;
      return (await sql.one<{ readonly count: number }>(text, [organization_id]))?.count ?? 0;
    },
    async countOf(provider, organization_id) {
      const text = `SELECT count(*) AS count FROM extensions WHERE provider = $1 AND ${live}
        AND ($2 = '' OR organization_id = $2)`;
      return (await sql.one<{ readonly count: number }>(text, [provider, organization_id ?? '']))?.count ?? 0;
    },
    async forgetDeleted(organization_id, before_ms) {
      const text = "DELETE FROM extensions WHERE organization_id = $1 AND state = 'deleted' AND updated_at < $2";
      await sql.run(text, [organization_id, before_ms]);
    },
  };
}

/** The columns of the fields that are named. */
function toFields(change: ExtensionChange): Record<string, SqlValue> {
  const { config, error, read_regions, variables, unrequested, asked, ...plain } = change;
  const { id: _id, organization_id: _o, provider: _p, created_at: _c, updated_at: _u, ...rest } = plain as ExtensionRow;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(given) as Record<string, SqlValue>),
    ...(read_regions === undefined ? {} : { read_regions: JSON.stringify(read_regions) }),
    ...(variables === undefined ? {} : { variables: JSON.stringify(variables) }),
    ...(unrequested === undefined ? {} : { unrequested: Number(unrequested) }),
    ...(asked === undefined ? {} : { asked: Number(asked) }),
    ...(config === undefined
      ? {}
      : { key_id: config?.key_id ?? null, data_key: config?.data_key ?? null, secret: config?.secret ?? null }),
    ...(error === undefined
      ? {}
      : {
          error_code: error?.code ?? null,
          error_message: error?.message ?? null,
          error_at: error?.at ?? null,
        }),
  };
}
