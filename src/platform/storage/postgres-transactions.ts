// Transactions of PostgreSQL, each on a connection that nothing else uses meanwhile; a few connections are kept for the next ones.
import type { PostgresSession } from './postgres-session.ts';
import { type Sql, StorageFailure } from './storage.ts';

export interface PostgresTransactions extends AsyncDisposable {
  /** See `Storage.transaction`. */
  run<T>(work: (sql: Sql) => Promise<T>, turn?: string): Promise<T>;
}

const SESSIONS_MAX = 4;
/** How long a transaction waits for a connection. */
const WAIT_MS = 10_000;
const TURN = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';

interface Waiting {
  readonly go: () => void;
  readonly timer: NodeJS.Timeout;
}

export function createPostgresTransactions(openSession: () => PostgresSession): PostgresTransactions {
  const idle: PostgresSession[] = [];
  const waiting: Waiting[] = [];
  let busy = 0;

  async function place(): Promise<void> {
    if (busy < SESSIONS_MAX) {
      busy += 1;
      return;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(entry), 1);
      reject(new StorageFailure('too many transactions wait for the database server'));
    }, WAIT_MS);
    const entry = { go: resolve, timer };
    waiting.push(entry);
    await promise;
  }

  /** Gives the place to the next transaction that waits. */
  function leave(): void {
    const next = waiting.shift();
    if (next === undefined) {
      busy -= 1;
      return;
    }
    clearTimeout(next.timer);
    next.go();
  }

  function checkOut(): PostgresSession {
    for (;;) {
      const known = idle.pop();
      if (known === undefined) return openSession();
      if (!known.isLost) return known;
      void known.end();
    }
  }

  return {
    async run(work, turn) {
      await place();
      const session = checkOut();
      try {
        const result = await perform(session, work, turn);
        idle.push(session);
        return result;
      } catch (error) {
        if (await rollBack(session)) idle.push(session);
        else void session.end();
        throw error;
      } finally {
        leave();
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(idle.splice(0).map((session) => session.end()));
    },
  };
}

async function perform<T>(session: PostgresSession, work: (sql: Sql) => Promise<T>, turn?: string): Promise<T> {
  await session.run('BEGIN');
  if (turn !== undefined) await session.run(TURN, [turn]);
  // PostgreSQL aborts a transaction after a failed query, even when `work` catches the error.
  let fault: unknown;
  async function noted<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer;
    } catch (error) {
      fault ??= error;
      throw error;
    }
  }
  const result = await work({
    all: (text, values) => noted(session.all(text, values)),
    one: (text, values) => noted(session.one(text, values)),
    run: (text, values) => noted(session.run(text, values)),
  });
  if (fault !== undefined) throw fault;
  await session.run('COMMIT');
  return result;
}

/** False when the session can no longer be used. */
async function rollBack(session: PostgresSession): Promise<boolean> {
  if (session.isLost) return false;
  try {
    await session.run('ROLLBACK');
    return true;
  } catch {
    return false;
  }
}
