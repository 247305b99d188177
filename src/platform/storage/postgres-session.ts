// A connection for one transaction, or for locks. It does not reconnect: once it is lost, every further query fails, because on a new
// connection the query would run outside the transaction or without the locks.
import type { Secret } from '../../core/secret.ts';
import { createPostgresClient } from './postgres-client.ts';
import { isConnectionLost } from './postgres-failure.ts';
import { createPostgresSql, Unanswered } from './postgres-query.ts';
import { type Sql, StorageFailure } from './storage.ts';

export interface PostgresSession extends Sql {
  /** The connection has ended, or the server does not answer on it. */
  readonly isLost: boolean;
  /** Closes the connection at once, with whatever is open on it. */
  end(): Promise<void>;
}

export interface PostgresSessionOptions {
  readonly url: Secret;
  readonly statement_ms: number;
  readonly answer_ms?: number;
}

/** Connects at the first query. */
export function createPostgresSession({ url, statement_ms, ...more }: PostgresSessionOptions): PostgresSession {
  let isLost = false;
  function lose(): void {
    isLost = true;
  }
  // A client of one connection: a reserved connection of a larger client is written to after its end, and that error cannot be caught.
  const client = createPostgresClient({ url, statement_ms, max: 1, onClose: lose });
  const sql = createPostgresSql({
    ...more,
    client() {
      if (isLost) throw new StorageFailure('the connection to the database was lost');
      return client;
    },
    onError(error) {
      if (error instanceof Unanswered || isConnectionLost(error)) lose();
    },
  });
  return {
    ...sql,
    get isLost() {
      return isLost;
    },
    async end() {
      lose();
      await client.end({ timeout: 0 });
    },
  };
}
