// What the stores of the platform ask of a database. Their SQL is written once, in what SQLite and PostgreSQL share, with parameters
// written $1, $2; where the two differ, the adapters and the schemas know.

export type SqlValue = string | number | null | Buffer;

/** Everything throws `StorageFailure` when the database cannot be asked now. */
export interface Sql {
  /** The rows, whose fields are what `T` says: numbers, texts, buffers and null. */
  all<T>(text: string, values?: readonly SqlValue[]): Promise<readonly T[]>;
  /** The first row. */
  one<T>(text: string, values?: readonly SqlValue[]): Promise<T | undefined>;
  /** Resolves with how many rows were written. */
  run(text: string, values?: readonly SqlValue[]): Promise<number>;
}

export interface Storage extends Sql, AsyncDisposable {
  /**
   * All that `work` does through its argument, or nothing of it when it throws. It must ask nothing else meanwhile. Transactions
   * of one `turn` are one after the other, in every process on the database; without it they see what was committed before.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>, turn?: string): Promise<T>;
  /** One `work` of this name at a time, in every process on the database. A process that dies lets go. */
  exclusively<T>(name: string, work: () => Promise<T>): Promise<T>;
  size_bytes(): Promise<number>;
}

/** The database cannot be asked or written to now. Nothing that the caller did wrong, and it passes. */
export class StorageFailure extends Error {
  override readonly name = 'StorageFailure';
}
