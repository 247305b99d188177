// Which vault keys the platform has that runs, or ran last, on a database: a rotation to another one would take the credentials away
// from it.
import { RemoraError } from '../../core/remora-error.ts';
import type { Sqlite } from '../../sqlite/open.ts';

/** Forgets authorizations that were begun under a key that is gone: nobody can finish them. */
export function writeRunningKeys(db: Sqlite, key_ids: readonly string[]): void {
  const insert = db.prepare<[string]>('INSERT OR IGNORE INTO running_keys (key_id) VALUES (?)');
  db.transaction(() => {
    db.exec('DELETE FROM running_keys');
    for (const key_id of key_ids) insert.run(key_id);
    db.exec('DELETE FROM oauth_states WHERE key_id NOT IN (SELECT key_id FROM running_keys)');
  }).immediate();
}

/** Throws `conflict` when the platform was started without the key. */
export function checkRunningPlatformHas(db: Sqlite, key_id: string): void {
  if (db.prepare<[string]>('SELECT 1 FROM running_keys WHERE key_id = ?').get(key_id) !== undefined) return;
  throw new RemoraError(
    'conflict',
    `a platform runs here without the vault key ${key_id}; add it before its other keys, restart it, and rotate then`,
  );
}
