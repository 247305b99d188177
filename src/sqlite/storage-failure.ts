// Whether an error says that the disk or the file cannot take a write now: full, read-only, broken, or held by somebody else.
import Database from 'better-sqlite3';

const CODES = /^SQLITE_(FULL|IOERR|READONLY|BUSY|CANTOPEN|NOMEM)/;

export function isStorageFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && CODES.test(error.code);
}

/** A full disk and a busy file can recover under the same handle; after any other failure the file has to be opened again. */
export function mayHeal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^SQLITE_(?:FULL|BUSY)/.test(String(error.code));
}
