// Sessions: who is signed in, in which browser. A session is opened by a password and ends by signing out, or after a time.
import type { Secret } from '../../core/secret.ts';
import type { Sql } from '../storage/storage.ts';
import { createUserStore, type User } from '../users/user-store.ts';
import { drawSecret, toSecretHash } from './secret-hash.ts';

export interface SessionStore {
  /** Returns the text that the browser keeps. */
  create(user_id: string, now_ms: number): Promise<Secret>;
  /** Undefined for a session that has ended. */
  findUser(session: Secret, now_ms: number): Promise<User | undefined>;
  /** The same by the hash of the session. */
  findUserByHash(hash: string, now_ms: number): Promise<User | undefined>;
  end(session: Secret): Promise<void>;
  /** Deletes some of what has expired. */
  forgetExpired(now_ms: number): Promise<void>;
}

export const SESSION_MS = 12 * 3_600_000;
/** A user has so many sessions; the oldest ends for the next. */
const SESSIONS_KEPT = 50;
/** A clock that was set back by more makes a session of the future, which counts for nothing. */
const FUTURE_MS = 60_000;
const FORGOTTEN_AT_ONCE = 200;

export function createSessionStore(sql: Sql): SessionStore {
  const users = createUserStore(sql);

  async function findUserByHash(hash: string, now_ms: number): Promise<User | undefined> {
    const found = await sql.one<{ user_id: string }>(
      'SELECT user_id FROM sign_on_sessions WHERE hash = $1 AND created_at > $2 AND created_at < $3',
      [hash, now_ms - SESSION_MS, now_ms + FUTURE_MS],
    );
    return found === undefined ? undefined : await users.find(found.user_id);
  }

  return {
    async create(user_id, now_ms) {
      const session = drawSecret();
      await sql.run('INSERT INTO sign_on_sessions (hash, user_id, created_at) VALUES ($1, $2, $3)', [
        toSecretHash(session),
        user_id,
        now_ms,
      ]);
      await sql.run(
        `DELETE FROM sign_on_sessions WHERE user_id = $1 AND hash NOT IN
           (SELECT hash FROM sign_on_sessions WHERE user_id = $1 ORDER BY created_at DESC, hash LIMIT $2)`,
        [user_id, SESSIONS_KEPT],
      );
      return session;
    },
    findUser: (session, now_ms) => findUserByHash(toSecretHash(session), now_ms),
    findUserByHash,
    async end(session) {
      await sql.run('DELETE FROM sign_on_sessions WHERE hash = $1', [toSecretHash(session)]);
    },
    async forgetExpired(now_ms) {
      await sql.run(
        'DELETE FROM sign_on_sessions WHERE hash IN (SELECT hash FROM sign_on_sessions WHERE created_at < $1 LIMIT $2)',
        [now_ms - SESSION_MS, FORGOTTEN_AT_ONCE],
      );
    },
  };
}
