// Counts wrong passwords of one email address from one place in the database, so that a restart or another platform process does not
// begin again. An address that nobody has is counted as well: the answers to both are the same. Each place counts for itself: a stranger
// who only knows the address shuts its owner out nowhere else.
import { createHash } from 'node:crypto';
import type { Storage } from '../storage/storage.ts';

export interface Guessed {
  readonly email: string;
  /** Where the tries come from. */
  readonly place: string;
}

export interface LockOutStore {
  /**
   * Call it before a password is tried: the try counts as wrong until `clear`, so that tries at the same time count too. Resolves with
   * how long no password is tried for this address from there; 0 = now.
   */
  begin(guessed: Guessed, now_ms: number): Promise<number>;
  /** The password was right. */
  clear(guessed: Guessed): Promise<void>;
  /** Deletes some of what is old. */
  forgetOld(now_ms: number): Promise<void>;
}

interface Failures {
  readonly count: number;
  readonly last_at: number;
}

/** So many wrong passwords are nothing. */
const FREE = 5;
const FIRST_MS = 30_000;
const LONGEST_MS = 15 * 60_000;
const COUNT_MAX = 1_000;
const KEPT_MS = 24 * 3_600_000;
const FORGOTTEN_AT_ONCE = 200;

export function createLockOutStore(storage: Pick<Storage, 'run' | 'transaction'>): LockOutStore {
  return {
    begin(guessed, now_ms) {
      const key = toKey(guessed);
      return storage.transaction(async (sql) => {
        const text = 'SELECT count, last_at FROM sign_in_failures WHERE email_hash = $1';
        const wait_ms = toWait(await sql.one<Failures>(text, [key]), now_ms);
        if (wait_ms > 0) return wait_ms;
        await sql.run(
          `INSERT INTO sign_in_failures (email_hash, count, last_at) VALUES ($1, 1, $2)
           ON CONFLICT (email_hash) DO UPDATE SET last_at = excluded.last_at,
             count = CASE WHEN sign_in_failures.count < $3 THEN sign_in_failures.count + 1 ELSE sign_in_failures.count END`,
          [key, now_ms, COUNT_MAX],
        );
        return 0;
      }, `sign-in ${key}`);
    },
    async clear(guessed) {
      await storage.run('DELETE FROM sign_in_failures WHERE email_hash = $1', [toKey(guessed)]);
    },
    async forgetOld(now_ms) {
      await storage.run(
        `DELETE FROM sign_in_failures WHERE email_hash IN
           (SELECT email_hash FROM sign_in_failures WHERE last_at < $1 LIMIT $2)`,
        [now_ms - KEPT_MS, FORGOTTEN_AT_ONCE],
      );
    },
  };
}

function toWait(failures: Failures | undefined, now_ms: number): number {
  if (failures === undefined || failures.count < FREE) return 0;
  const lock_ms = Math.min(FIRST_MS * 2 ** (failures.count - FREE), LONGEST_MS);
  // A clock that was set back does not make the wait longer than the lock.
  return Math.max(0, Math.min(failures.last_at + lock_ms - now_ms, lock_ms));
}

/** What is typed into the field may be a password, so that the text itself is not kept. */
function toKey({ email, place }: Guessed): string {
  return createHash('sha256')
    .update(JSON.stringify([email.trim().toLowerCase(), place]), 'utf8')
    .digest('hex');
}
