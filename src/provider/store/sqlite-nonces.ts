// Nonces in SQLite: they outlive a restart, so that no request can be repeated after one.
import type { Sqlite } from '../../sqlite/open.ts';
import type { NonceBook } from './nonce-book.ts';

/** Forgetting goes in portions, so that none holds the process. */
const PORTION = 1_000;

export function createSqliteNonces(db: Sqlite): NonceBook {
  const insert = db.prepare('INSERT INTO nonces (nonce, used_ms) VALUES (?, ?) ON CONFLICT DO NOTHING');
  const forget = db.prepare(
    'DELETE FROM nonces WHERE nonce IN (SELECT nonce FROM nonces WHERE used_ms < ? ORDER BY used_ms LIMIT ?)',
  );
  return {
    use: (nonce, now_ms) => insert.run(nonce, now_ms).changes === 1,
    forget(before_ms) {
      forget.run(before_ms, PORTION);
    },
  };
}
