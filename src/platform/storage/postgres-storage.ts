// The storage of several platform processes: PostgreSQL. Single queries share a few connections; transactions and locks have their
// own. While the server is gone every query fails; the first one after its return succeeds.
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { migratePostgres } from './migrate-postgres.ts';
import { createPostgresClient, type PostgresClient } from './postgres-client.ts';
import { isConnectionLost } from './postgres-failure.ts';
import { createPostgresLocks } from './postgres-locks.ts';
import { createPostgresSql, Unanswered } from './postgres-query.ts';
import { createPostgresSession, type PostgresSession } from './postgres-session.ts';
import { createPostgresTransactions } from './postgres-transactions.ts';
import { createPostgresVersion } from './postgres-version.ts';
import { type Storage, StorageFailure } from './storage.ts';

const QUERIES_MAX = 8;
const STATEMENT_MS = 5_000;
const MIGRATION_MS = 120_000;
const CLOSE_S = 2;
const ONLY_READS = /^\s*SELECT\b/;

/**
 * Connects and migrates. Throws `StorageFailure` when the server cannot be reached, `not_configured` for an address that cannot
 * be read or a database that is not UTF-8.
 */
export async function openPostgresStorage(url: Secret): Promise<Storage> {
  await migrateOnce(url);
  const openSession = () => createPostgresSession({ url, statement_ms: STATEMENT_MS });
  const transactions = createPostgresTransactions(openSession);
  const locks = createPostgresLocks({ openSession });
  const retired = new Set<Promise<void>>();
  const createClient = () => createPostgresClient({ url, max: QUERIES_MAX, statement_ms: STATEMENT_MS });
  let client = createClient();

  /** Replaces a client after a broken connection, which can leave a slot of its pool unusable. */
  function retire(error: unknown, asked: PostgresClient): void {
    if (asked !== client || !(error instanceof Unanswered || isConnectionLost(error))) return;
    // What was under way may have been carried out.
    version.bump();
    client = createClient();
    const ended = asked.end({ timeout: CLOSE_S }).finally(() => retired.delete(ended));
    retired.add(ended);
  }

  const sql = createPostgresSql({ client: () => client, onError: retire });
  const version = createPostgresVersion(sql);

  /** Whatever has come of a write, it may have been carried out. */
  async function writing<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } finally {
      version.bump();
    }
  }

  return {
    all: (text, values) => (ONLY_READS.test(text) ? sql.all(text, values) : writing(() => sql.all(text, values))),
    one: (text, values) => (ONLY_READS.test(text) ? sql.one(text, values) : writing(() => sql.one(text, values))),
    run: (text, values) => writing(() => sql.run(text, values)),
    transaction: (work, turn) => writing(() => transactions.run(work, turn)),
    exclusively: (name, work) => locks.exclusively(name, work),
    async size_bytes() {
      const row = await sql.one<{ readonly bytes: number }>('SELECT pg_database_size(current_database()) AS bytes');
      return row?.bytes ?? 0;
    },
    look: version.look,
    get version() {
      return version.current;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...retired, client.end({ timeout: CLOSE_S })]);
      await locks[Symbol.asyncDispose]();
      await transactions[Symbol.asyncDispose]();
    },
  };
}

async function migrateOnce(url: Secret): Promise<void> {
  const session = createPostgresSession({ url, statement_ms: MIGRATION_MS, answer_ms: MIGRATION_MS });
  try {
    await checkServer(session);
    await migratePostgres(session);
  } catch (error) {
    if (!(error instanceof StorageFailure) || !(error.cause instanceof Error)) throw error;
    // The message holds the whole reason, because at the start it is all that the operator sees.
    throw new StorageFailure(`${error.message}: ${error.cause.message}`, { cause: error.cause });
  } finally {
    await session.end();
  }
}

async function checkServer(session: PostgresSession): Promise<void> {
  const row = await session.one<{ readonly encoding: string }>("SELECT current_setting('server_encoding') AS encoding");
  if (row?.encoding === 'UTF8') return;
  throw new RemoraError('not_configured', `the database is encoded as ${row?.encoding}; make one with UTF8`);
}
