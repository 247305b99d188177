// The interface of the platform's database. The stores write their SQL once, in the language that SQLite and PostgreSQL share, with
// parameters $1, $2; the adapters and the schemas handle the differences.

export type SqlValue = string | number | null | Buffer;

/** Every method throws `StorageFailure` while the database cannot be asked. */
export interface Sql {
  /** Resolves with all rows. `T` is not checked; its fields may be numbers, strings, buffers and null. */
  all<T>(text: string, values?: readonly SqlValue[]): Promise<readonly T[]>;
  /** Resolves with the first row. */
  one<T>(text: string, values?: readonly SqlValue[]): Promise<T | undefined>;
  /** Resolves with how many rows were written. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>;
}

export interface Storage extends Sql, AsyncDisposable {
  /**
   * Commits everything that `work` does through its argument, or nothing when it throws. `work` must not use the storage otherwise.
   * Transactions of one `turn` run one after the other, in all processes; those without one may run at once and see what is committed.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, turn?: string): Promise<T>;
  /** Runs one `work` of this name at a time, in all processes on the database. A process that dies releases the name. */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T>;
  size_bytes(): Promise<number>;
  /**
   * Looks whether anything was committed, by this process or another one, before it was called; `version` says so afterwards. Undefined where
   * that is known at once. Throws or rejects with `StorageFailure`.
   */
  look(): Promise<void> | undefined;
  /**
   * Equal to what it was before only when nothing was committed in between, as far as the last look has seen, or this process has written itself.
   * Undefined where that cannot be told: before the first look, and on SQLite while a transaction is open.
   */
  readonly version: number | undefined;
}

/** The database cannot be read or written now. The caller did nothing wrong, and the failure passes. */
export class StorageFailure extends Error {
  override readonly name = 'StorageFailure';
}
