// Named locks across processes: advisory locks on one connection, which the server releases when the process dies. Work whose
// connection is lost goes on without its lock, so its writes must check the state that they expect.
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import type { PostgresSession } from './postgres-session.ts';
import { StorageFailure } from './storage.ts';

export interface PostgresLocks extends AsyncDisposable {
  /** Runs one `work` of this name at a time in all processes. Throws `StorageFailure` when another one keeps the lock. */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export interface PostgresLocksOptions {
  readonly openSession: () => PostgresSession;
  readonly wait_ms?: number;
}

/** Longer than a provider may take to answer: locks are held during such calls. */
const WAIT_MS = 45_000;
const POLL_MS = 50;
const TAKE = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken';
const GIVE = 'SELECT pg_advisory_unlock(hashtextextended($1, 0))';

export function createPostgresLocks({ openSession, wait_ms = WAIT_MS }: PostgresLocksOptions): PostgresLocks {
  // PostgreSQL grants a lock again on the connection that holds it, so calls of this process need a mutex of their own.
  const mutex = createKeyedMutex();
  let current: PostgresSession | undefined;

  function session(): PostgresSession {
    if (current?.isLost === true) {
      void current.end();
      current = undefined;
    }
    current ??= openSession();
    return current;
  }

  async function lock(name: string): Promise<PostgresSession> {
    const end_ms = performance.now() + wait_ms;
    for (;;) {
      const asked = session();
      if ((await asked.one<{ readonly taken: boolean }>(TAKE, [name]))?.taken === true) return asked;
      if (performance.now() > end_ms) throw new StorageFailure(`another process keeps the lock of ${name}`);
      await sleep(POLL_MS);
    }
  }

  async function give(name: string, holder: PostgresSession): Promise<void> {
    if (holder.isLost) return;
    try {
      await holder.run(GIVE, [name]);
    } catch {
      // A lock that could not be released ends with its connection.
      await holder.end();
    }
  }

  return {
    exclusively: (name, work) =>
      mutex.run(name, async () => {
        const holder = await lock(name);
        try {
          return await work();
        } finally {
          await give(name, holder);
        }
      }),
    async [Symbol.asyncDispose]() {
      await current?.end();
    },
  };
}
