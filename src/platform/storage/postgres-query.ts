// Queries with a deadline on the client's side, for a server that does not answer at all.
import { withDeadline } from '../../core/with-deadline.ts';
import type { PostgresClient } from './postgres-client.ts';
import { toStorageError } from './postgres-failure.ts';
import { type Sql, type SqlValue, StorageFailure } from './storage.ts';

/** Longer than the deadlines of connecting and of a statement together, whose errors say more. */
const ANSWER_MS = 12_000;

export interface QueryOptions {
  /** Returns the client for each query; throws when there is none. */
  readonly client: () => PostgresClient;
  readonly answer_ms?: number;
  /** Runs with each error of the client, the server or the network, and with `Unanswered`. */
  readonly onError?: (error: unknown, client: PostgresClient) => void;
}

export class Unanswered extends StorageFailure {}

const silent = () => new Unanswered('the database server does not answer');

export function createPostgresSql({ client, answer_ms = ANSWER_MS, onError }: QueryOptions): Sql {
  async function ask(text: string, values: readonly SqlValue[] = []) {
    const asked = client();
    try {
      return await withDeadline(answer_ms, asked.unsafe(text, [...values], { prepare: true }), silent);
    } catch (error) {
      onError?.(error, asked);
      throw toStorageError(error);
    }
  }
  return {
    async all<T>(text: string, values?: readonly SqlValue[]) {
      return [...(await ask(text, values))] as T[];
    },
    async one<T>(text: string, values?: readonly SqlValue[]) {
      return (await ask(text, values))[0] as T | undefined;
    },
    run: async (text, values) => (await ask(text, values)).count,
  };
}
