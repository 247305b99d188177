// Named locks that hold across processes: advisory locks, all of them on one connection, so that the server takes them back from a
// process that dies. Work that outlives its connection is not told: what it writes is written under conditions.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTurns } from '../turns.ts';
import type { PostgresSession } from './postgres-session.ts';
import { StorageFailure } from './storage.ts';

export interface PostgresLocks extends AsyncDisposable {
  /** One `work` of this name at a time in all processes. Throws `StorageFailure` when another one keeps the lock. */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export interface PostgresLocksOptions {
  readonly openSession: () => PostgresSession;
  readonly wait_ms?: number;
}

/** Longer than a provider may take to answer, which is what locks are held for. */
const WAIT_MS = 45_000;
const POLL_MS = 50;
const TAKE = 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken';
const GIVE = 'SELECT pg_advisory_unlock(hashtextextended($1, 0))';

export function createPostgresLocks({ openSession, wait_ms = WAIT_MS }: PostgresLocksOptions): PostgresLocks {
  // Within one connection a lock is given to whoever asks again.
  const turns = createTurns();
  let current: PostgresSession | undefined;

  function session(): PostgresSession {
    if (current?.isLost === true) {
      void current.end();
      current = undefined;
    }
    current ??= openSession();
    return current;
  }

  async function take(name: string): Promise<PostgresSession> {
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
      // The connection keeps what it cannot give back.
      await holder.end();
    }
  }

  return {
    exclusively: (name, work) =>
      turns.take(name, async () => {
        const holder = await take(name);
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
