// The secrets of every app. A value is stored closed and read only to be opened by the vault.
import type { SecretOwner } from '../../contract/app-secrets.ts';
import type { Sql } from '../storage/storage.ts';
import type { SecretPlace } from '../vault/secret-place.ts';
import type { SecretSource, StoredSecret } from '../vault/secret-source.ts';
import type { ClosedSecret } from '../vault/vault.ts';

export interface AppSecretRow {
  readonly id: string;
  readonly organization_id: string;
  readonly app: string;
  readonly name: string;
  readonly owner: SecretOwner;
  readonly closed: ClosedSecret;
  readonly digest: string;
  readonly set_at: number;
}

export interface AppSecretStore {
  /** Sorted by name. */
  list(app: string): Promise<readonly AppSecretRow[]>;
  find(app: string, name: string): Promise<AppSecretRow | undefined>;
  /** False when the app has a secret of this name. */
  insert(row: AppSecretRow): Promise<boolean>;
  delete(row: Pick<AppSecretRow, 'id'>): Promise<void>;
  /** Deletes what the owner has set in every app. */
  deleteOf(owner: SecretOwner): Promise<void>;
}

interface StoredAppSecret extends Omit<AppSecretRow, 'owner' | 'closed'>, ClosedSecret {
  readonly owner_kind: string;
  readonly owner_id: string;
}

const insert = `
INSERT INTO app_secrets (app, name, id, organization_id, owner_kind, owner_id, key_id, data_key, secret, digest, set_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`;

export function createAppSecretStore(sql: Sql): AppSecretStore {
  return {
    async list(app) {
      const text = 'SELECT * FROM app_secrets WHERE app = $1 ORDER BY name';
      return (await sql.all<StoredAppSecret>(text, [app])).map(parseRow);
    },
    async find(app, name) {
      const text = 'SELECT * FROM app_secrets WHERE app = $1 AND name = $2';
      const row = await sql.one<StoredAppSecret>(text, [app, name]);
      return row === undefined ? undefined : parseRow(row);
    },
    async insert({ app, name, id, organization_id, owner, closed, digest, set_at }) {
      const place = [app, name, id, organization_id, owner.kind, toOwnerId(owner)];
      const sealed = [closed.key_id, closed.data_key, closed.secret];
      return (await sql.run(insert, [...place, ...sealed, digest, set_at])) > 0;
    },
    async delete({ id }) {
      await sql.run('DELETE FROM app_secrets WHERE id = $1', [id]);
    },
    async deleteOf(owner) {
      const text = 'DELETE FROM app_secrets WHERE owner_kind = $1 AND owner_id = $2';
      await sql.run(text, [owner.kind, toOwnerId(owner)]);
    },
  };
}

/**
 * Reads what stands for all secrets of the app of a sprite's machine: another text after each change of one. Undefined where it has none.
 * One look asks for many sprites, and without any secret on the platform for none.
 */
export function createSecretVersions(
  sql: Pick<Sql, 'all' | 'one'>,
): (sprite_id: string) => Promise<string | undefined> {
  let any: Promise<unknown> | undefined;
  return async (sprite_id) => {
    any ??= sql.one('SELECT 1 AS one FROM app_secrets LIMIT 1');
    if ((await any) === undefined) return undefined;
    const text = `SELECT s.id FROM machines m JOIN app_secrets s ON s.app = m.app AND s.organization_id = m.organization_id
                  WHERE m.sprite_id = $1 ORDER BY s.name`;
    const rows = await sql.all<{ readonly id: string }>(text, [sprite_id]);
    return rows.length === 0 ? undefined : rows.map(({ id }) => id).join();
  };
}

/** The place names the app, the variable and who has set it: a row that was put elsewhere opens nothing. */
export function toAppSecretPlace(row: Omit<AppSecretRow, 'closed' | 'digest' | 'set_at'>): SecretPlace {
  const { id, organization_id, app, name, owner } = row;
  return { kind: 'app_secret', organization_id, id, bound: [app, name, owner.kind, toOwnerId(owner)] };
}

/** The secrets of apps as a source of secrets for the vault. */
export function createAppSecretSource(sql: Sql): SecretSource {
  return {
    name: 'secrets of apps',
    async listKeyIds() {
      const rows = await sql.all<{ key_id: string }>('SELECT DISTINCT key_id FROM app_secrets ORDER BY key_id');
      return rows.map(({ key_id }) => key_id);
    },
    async listClosedOtherwise(key_id, after, limit): Promise<readonly StoredSecret[]> {
      const text = 'SELECT * FROM app_secrets WHERE key_id <> $1 AND id > $2 ORDER BY id LIMIT $3';
      const rows = (await sql.all<StoredAppSecret>(text, [key_id, after, limit])).map(parseRow);
      return rows.map((row) => ({ place: toAppSecretPlace(row), closed: row.closed }));
    },
    async setDataKey({ place, closed }, { key_id, data_key }) {
      const text = 'UPDATE app_secrets SET key_id = $1, data_key = $2 WHERE id = $3 AND data_key = $4';
      return (await sql.run(text, [key_id, data_key, place.id, closed.data_key])) > 0;
    },
  };
}

/** An operator is none of several: people set secrets in the name of the organization. */
function toOwnerId(owner: SecretOwner): string {
  return owner.kind === 'operator' ? '' : owner.id;
}

function parseRow({ owner_kind, owner_id, key_id, data_key, secret, ...row }: StoredAppSecret): AppSecretRow {
  const owner: SecretOwner = owner_kind === 'extension' ? { kind: 'extension', id: owner_id } : { kind: 'operator' };
  return { ...row, owner, closed: { key_id, data_key, secret } };
}
