// A file that one process holds at a time: SQLite's own exclusive lock, which the kernel gives back however the holder ends.
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { errorCode } from '../core/error-code.ts';
import { toErrorMessage } from '../core/error-message.ts';
import { RemoraError } from '../core/remora-error.ts';
import { makeDirectory } from '../linux/make-directory.ts';

/** Throws `conflict` when another process holds it, and `not_configured` when the file cannot be made, read or written. */
export function openLock(path: string): Disposable {
  makeDirectory(dirname(path), 0o700);
  let db: Database.Database | undefined;
  try {
    db = new Database(path, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    db?.close();
    throw toLockError(path, cause);
  }
  const held = db;
  return {
    [Symbol.dispose]() {
      held.close();
    },
  };
}

function toLockError(path: string, cause: unknown): RemoraError {
  const directory = dirname(path);
  if (String(errorCode(cause)).startsWith('SQLITE_BUSY')) {
    const message = `another process uses ${directory}; stop it or choose another directory`;
    return new RemoraError('conflict', message, { cause });
  }
  const message = `the directory ${directory} cannot be used: ${path} cannot be written (${toErrorMessage(cause)}); choose another directory`;
  return new RemoraError('not_configured', message, { cause });
}
