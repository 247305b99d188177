// The storage of one platform process: SQLite on one connection. A query runs at once; while a transaction is open, queries outside it
// wait, because the connection is the same.
import { join } from 'node:path';
import { errorCode } from '../../core/error-code.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import { openDatabase, type Sqlite } from '../../sqlite/open.ts';
import { isStorageFailure } from '../../sqlite/storage-failure.ts';
import { sqliteMigrations } from './sqlite-schema.ts';
import { type Sql, type SqlValue, type Storage, StorageFailure } from './storage.ts';

export const SQLITE_FILE = 'platform.db';

type Statement = ReturnType<typeof prepareText>;

interface Prepared {
  readonly statement: Statement;
  readonly isWrite: boolean;
  /** The index of the value for each placeholder; undefined when they are in order. */
  readonly order: readonly number[] | undefined;
}

/** Opens `platform.db` in `dir`. Throws the error of SQLite for a file that is damaged or cannot be written, and never replaces it. */
export function openSqliteStorage(dir: string): Storage {
  const db = openFile(join(dir, SQLITE_FILE));
  db.pragma('synchronous = FULL');
  db.pragma('secure_delete = ON');
  const prepared = new Map<string, Prepared>();
  const mutex = createKeyedMutex();
  const dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck();
  let transaction: Promise<void> | undefined;
  let version = 0;
  let othersVersion: number | undefined;
  let isLooked = false;

  function query<T>(
    text: string,
    values: readonly SqlValue[],
    ask: (statement: Statement, given: readonly SqlValue[]) => T,
  ): T {
    return withStorageFailure(() => {
      const { statement, isWrite, order } = prepared.get(text) ?? keep(text);
      if (isWrite) version += 1;
      return ask(statement, order === undefined ? values : order.map((index) => values[index] ?? null));
    });
  }

  function keep(text: string): Prepared {
    const made = prepare(db, text);
    prepared.set(text, made);
    return made;
  }

  const inside: Sql = {
    async all<T>(text: string, values: readonly SqlValue[] = []) {
      return query(text, values, (statement, given) => statement.all(...given)) as T[];
    },
    async one<T>(text: string, values: readonly SqlValue[] = []) {
      return query(text, values, (statement, given) => statement.get(...given)) as T | undefined;
    },
    run: async (text, values = []) => query(text, values, (statement, given) => statement.run(...given).changes),
  };

  return {
    async all(text, values) {
      while (transaction !== undefined) await transaction;
      return await inside.all(text, values);
    },
    async one(text, values) {
      while (transaction !== undefined) await transaction;
      return await inside.one(text, values);
    },
    async run(text, values) {
      while (transaction !== undefined) await transaction;
      return await inside.run(text, values);
    },
    async transaction(work) {
      while (transaction !== undefined) await transaction;
      withStorageFailure(() => db.exec('BEGIN IMMEDIATE'));
      const { promise, resolve } = Promise.withResolvers<void>();
      transaction = promise;
      try {
        const result = await work(inside);
        withStorageFailure(() => db.exec('COMMIT'));
        return result;
      } finally {
        // SQLite ends a transaction itself after some failures, such as a full disk.
        if (db.inTransaction) db.exec('ROLLBACK');
        transaction = undefined;
        resolve();
      }
    },
    exclusively: (name, work) => mutex.run(name, work),
    async size_bytes() {
      return Number(db.pragma('page_count', { simple: true })) * Number(db.pragma('page_size', { simple: true }));
    },
    look() {
      if (isLooked) return undefined;
      // It changes with what other connections commit, and only with that.
      const others = withStorageFailure(() => dataVersion.get());
      if (others !== othersVersion) version += 1;
      othersVersion = others;
      // The file is locked for it, which takes longer than most of what is done for a call: those of one turn of the event loop share a look.
      isLooked = true;
      setImmediate(() => {
        isLooked = false;
      });
      return undefined;
    },
    get version() {
      return transaction === undefined && othersVersion !== undefined ? version : undefined;
    },
    async [Symbol.asyncDispose]() {
      while (transaction !== undefined) await transaction;
      db.close();
    },
  };
}

/** An error with a code of SQLite names no file. */
function openFile(path: string): Sqlite {
  try {
    return openDatabase(path, { migrations: sqliteMigrations, onDamage: 'refuse' }).db;
  } catch (error) {
    if (errorCode(error)?.startsWith('SQLITE_') !== true) throw error;
    const advice =
      'it is left as it is; put a copy of `remora platform backup` in its place, or choose another directory';
    throw new Error(`${path} cannot be used (${toErrorMessage(error)}): ${advice}`, { cause: error });
  }
}

/**
 * SQLite may plan by what is bound to a bare placeholder, and then compiles the statement again at each call, which takes ten times as
 * long as most calls. It does not look behind a plus, which changes no value.
 */
function prepare(db: Sqlite, text: string): Prepared {
  const order: number[] = [];
  const positional = text.replaceAll(/\$(\d+)/g, (_, place: string) => {
    order.push(Number(place) - 1);
    return '+?';
  });
  const isPlain = order.every((index, place) => index === place);
  const statement = prepareText(db, positional);
  return { statement, isWrite: !statement.readonly, order: isPlain ? undefined : order };
}

function prepareText(db: Sqlite, text: string) {
  return db.prepare<SqlValue[]>(text);
}

function withStorageFailure<T>(ask: () => T): T {
  try {
    return ask();
  } catch (cause) {
    if (!isStorageFailure(cause)) throw cause;
    throw new StorageFailure('the database file cannot be used now', { cause });
  }
}
