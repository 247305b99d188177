// Records the vault keys of every platform process on a database: a rotation to a key that one of them lacks would make credentials
// unreadable to it.
import { RemoraError } from '../../core/remora-error.ts';
import { type Sql, type Storage, StorageFailure } from '../storage/storage.ts';

/** The lock that a starting platform and a rotation hold, so that they do not run at once. */
export const VAULT_KEYS = 'vault keys';

/** Forgets authorizations that were begun under a key that is gone: nobody can finish them. */
export async function writeRunningKeys(storage: Storage, host: string, key_ids: readonly string[]): Promise<void> {
  await storage.transaction(async (sql) => {
    await sql.run('DELETE FROM running_keys WHERE host = $1', [host]);
    for (const key_id of key_ids)
      await sql.run('INSERT INTO running_keys (host, key_id) VALUES ($1, $2)', [host, key_id]);
    await sql.run('DELETE FROM oauth_states WHERE key_id NOT IN (SELECT key_id FROM running_keys)');
  }, 'running keys');
}

/** Deletes the record of a platform that ends, so that it stops no rotation. A failure to write is ignored. */
export async function forgetRunningKeys(sql: Sql, host: string): Promise<void> {
  try {
    await sql.run('DELETE FROM running_keys WHERE host = $1', [host]);
  } catch (error) {
    if (!(error instanceof StorageFailure)) throw error;
  }
}

/** Throws `conflict` when a platform was started without the key. */
export async function checkRunningPlatformsHave(sql: Sql, key_id: string): Promise<void> {
  const without = await sql.one<{ readonly host: string }>(
    `SELECT host FROM running_keys WHERE host NOT IN (SELECT host FROM running_keys WHERE key_id = $1) ORDER BY host`,
    [key_id],
  );
  if (without === undefined) return;
  throw new RemoraError(
    'conflict',
    `a platform runs here without the vault key ${key_id}; add it before its other keys, restart it, and rotate then`,
    { details: { host: without.host } },
  );
}
