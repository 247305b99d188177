// The variables of an extension in the vault: closed as soon as they come, and as a source of secrets for a rotation of keys.
import { z } from 'zod';
import { Secret } from '../../core/secret.ts';
import type { Sql } from '../storage/storage.ts';
import type { SecretPlace } from '../vault/secret-place.ts';
import type { SecretSource, StoredSecret } from '../vault/secret-source.ts';
import type { ClosedSecret, Vault } from '../vault/vault.ts';
import { type ExtensionRow, parseExtensionRow, type StoredExtension } from './extension-row.ts';

type Placed = Pick<ExtensionRow, 'id' | 'organization_id' | 'provider'>;

const stored = z.record(z.string(), z.string());

export function closeConfig(
  vault: Pick<Vault, 'close'>,
  row: Placed,
  config: ReadonlyMap<string, Secret>,
): ClosedSecret {
  const values = [...config].map(([name, value]) => [name, value.reveal()]);
  return vault.close(toConfigPlace(row), new Secret(JSON.stringify(Object.fromEntries(values))));
}

/** Throws what `Vault.open` throws. */
export function openConfig(vault: Pick<Vault, 'open'>, row: Placed, closed: ClosedSecret): ReadonlyMap<string, Secret> {
  const values = stored.parse(JSON.parse(vault.open(toConfigPlace(row), closed).reveal()));
  return new Map(Object.entries(values).map(([name, value]) => [name, new Secret(value)]));
}

/** It opens for its extension at its provider only; which app gets it is another record. */
function toConfigPlace({ id, organization_id, provider }: Placed): SecretPlace {
  return { kind: 'extension', organization_id, id, bound: [provider] };
}

export function createExtensionSecrets(sql: Sql): SecretSource {
  return {
    name: 'extensions',
    async listKeyIds() {
      const text = 'SELECT DISTINCT key_id FROM extensions WHERE key_id IS NOT NULL ORDER BY key_id';
      return (await sql.all<{ readonly key_id: string }>(text)).map(({ key_id }) => key_id);
    },
    async listClosedOtherwise(key_id, after, limit) {
      const text = 'SELECT * FROM extensions WHERE key_id <> $1 AND id > $2 ORDER BY id LIMIT $3';
      const rows = (await sql.all<StoredExtension>(text, [key_id, after, limit])).map(parseExtensionRow);
      return rows.flatMap((row): StoredSecret[] =>
        row.config === null ? [] : [{ place: toConfigPlace(row), closed: row.config }],
      );
    },
    async setDataKey({ place, closed }, { key_id, data_key }) {
      const text = 'UPDATE extensions SET key_id = $1, data_key = $2 WHERE id = $3 AND data_key = $4';
      return (await sql.run(text, [key_id, data_key, place.id, closed.data_key])) > 0;
    },
  };
}
