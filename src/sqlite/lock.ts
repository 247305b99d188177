// A file that one process holds at a time: SQLite's own exclusive lock, which the kernel gives back however the holder ends.
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { RemoraError } from '../core/remora-error.ts';
import { makeDirectory } from '../linux/make-directory.ts';

/** Throws `conflict` when another process holds it. */
export function openLock(path: string): Disposable {
  makeDirectory(dirname(path), 0o700);
  const db = new Database(path, { timeout: 0 });
  try {
    db.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    db.close();
    throw new RemoraError('conflict', `another process uses ${dirname(path)}; stop it or choose another directory`, {
      cause,
    });
  }
  return {
    [Symbol.dispose]() {
      db.close();
    },
  };
}
