// The secrets of extension providers, closed. Of one kind two are good while it is changed.
import type { ExtensionSecretKind } from '../../contract/extension-providers.ts';
import type { Sql } from '../storage/storage.ts';
import type { SecretPlace } from '../vault/secret-place.ts';
import type { SecretSource, StoredSecret } from '../vault/secret-source.ts';
import type { ClosedSecret } from '../vault/vault.ts';

export interface ProviderSecretRow {
  readonly id: string;
  readonly provider: string;
  readonly kind: ExtensionSecretKind;
  readonly closed: ClosedSecret;
}

export interface ProviderSecretStore {
  insert(row: ProviderSecretRow, now_ms: number): Promise<void>;
  /** Those of this kind that are good at `now_ms`, the newest first. */
  list(provider: string, kind: ExtensionSecretKind, now_ms: number): Promise<readonly ProviderSecretRow[]>;
  /**
   * Lets the newest of this kind end at `expires_at`, and deletes every other one. What has ended at `now_ms` is deleted at once: no clock that
   * is set back makes it good again.
   */
  retire(provider: string, kind: ExtensionSecretKind, expires_at: number, now_ms: number): Promise<void>;
}

type Stored = Omit<ProviderSecretRow, 'closed'> & ClosedSecret;

const columns = 'id, provider, kind, key_id, data_key, secret';
const newest = `SELECT id FROM extension_provider_secrets WHERE provider = $1 AND kind = $2 AND expires_at IS NULL`;

export function createProviderSecretStore(sql: Sql): ProviderSecretStore {
  return {
    async insert({ id, provider, kind, closed: { key_id, data_key, secret } }, now_ms) {
      const text = `INSERT INTO extension_provider_secrets (${columns}, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`;
      await sql.run(text, [id, provider, kind, key_id, data_key, secret, now_ms]);
    },
    async list(provider, kind, now_ms) {
      const text = `SELECT ${columns} FROM extension_provider_secrets
        WHERE provider = $1 AND kind = $2 AND (expires_at IS NULL OR expires_at > $3)
        ORDER BY coalesce(expires_at, 9000000000000000) DESC, id`;
      return (await sql.all<Stored>(text, [provider, kind, now_ms])).map(toRow);
    },
    async retire(provider, kind, expires_at, now_ms) {
      const of = [provider, kind];
      await sql.run(
        `DELETE FROM extension_provider_secrets WHERE provider = $1 AND kind = $2 AND id NOT IN (${newest})`,
        of,
      );
      await sql.run(
        'UPDATE extension_provider_secrets SET expires_at = $3 WHERE provider = $1 AND kind = $2 AND expires_at IS NULL',
        [...of, expires_at],
      );
      await sql.run('DELETE FROM extension_provider_secrets WHERE provider = $1 AND kind = $2 AND expires_at <= $3', [
        ...of,
        now_ms,
      ]);
    },
  };
}

/** Where such a secret belongs in the vault: it opens for its provider and its purpose only. Pure. */
export function toProviderSecretPlace({ id, provider, kind }: Omit<ProviderSecretRow, 'closed'>): SecretPlace {
  return { kind: 'extension_provider', organization_id: '', id, bound: [provider, kind] };
}

export function createProviderSecrets(sql: Sql): SecretSource {
  return {
    name: 'extension providers',
    async listKeyIds() {
      const text = 'SELECT DISTINCT key_id FROM extension_provider_secrets ORDER BY key_id';
      return (await sql.all<{ readonly key_id: string }>(text)).map(({ key_id }) => key_id);
    },
    async listClosedOtherwise(key_id, after, limit) {
      const text = `SELECT ${columns} FROM extension_provider_secrets WHERE key_id <> $1 AND id > $2 ORDER BY id LIMIT $3`;
      return (await sql.all<Stored>(text, [key_id, after, limit])).map(toRow).map(toStoredSecret);
    },
    async setDataKey({ place, closed }, { key_id, data_key }) {
      const text = 'UPDATE extension_provider_secrets SET key_id = $1, data_key = $2 WHERE id = $3 AND data_key = $4';
      return (await sql.run(text, [key_id, data_key, place.id, closed.data_key])) > 0;
    },
  };
}

function toRow({ key_id, data_key, secret, ...stored }: Stored): ProviderSecretRow {
  return { ...stored, closed: { key_id, data_key, secret } };
}

function toStoredSecret(row: ProviderSecretRow): StoredSecret {
  return { place: toProviderSecretPlace(row), closed: row.closed };
}
