// Whether an error says that the disk or the file cannot take a write now: full, read-only, broken, or held by somebody else.
import Database from 'better-sqlite3';

const CODES = /^SQLITE_(FULL|IOERR|READONLY|BUSY|CANTOPEN|NOMEM)/;

export function isStorageFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && CODES.test(error.code);
}
