// A copy of a database that may be in use, made by SQLite's own backup: of one moment, checked, and either complete or absent.
import { chmodSync, closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { RemoraError } from '../core/remora-error.ts';

export interface BackupResult {
  readonly path: string;
  readonly bytes: number;
}

/** All pages are copied in one step: a copy in several starts over whenever the platform writes. */
const ALL_PAGES = 0x7fff_ffff;

/**
 * Writes `target`, which must not exist and gets mode 0600. Throws `not_found` without a database, `already_exists`, `internal`
 * when the copy is not sound, and any error of the disk.
 */
export async function backupDatabase(source: string, target: string): Promise<BackupResult> {
  if (!existsSync(source)) throw new RemoraError('not_found', `there is no database at ${source}`);
  if (existsSync(target)) throw new RemoraError('already_exists', `${target} is there already`);
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  try {
    using db = openForBackup(source);
    closeSync(openSync(partial, 'wx', 0o600));
    await db.handle.backup(partial, { progress: () => ALL_PAGES });
    checkCopy(partial);
    chmodSync(partial, 0o600);
    const file = openSync(partial, 'r+');
    fsyncSync(file);
    closeSync(file);
    renameSync(partial, target);
  } finally {
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(partial + suffix, { force: true });
  }
  return { path: target, bytes: statSync(target).size };
}

function openForBackup(path: string): Disposable & { readonly handle: Database.Database } {
  const handle = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 });
  return { handle, [Symbol.dispose]: () => void handle.close() };
}

function checkCopy(path: string): void {
  const copy = new Database(path);
  try {
    // One file is enough: the log that the source keeps is part of the copy.
    copy.pragma('journal_mode = DELETE');
    const verdict = copy.pragma('integrity_check(1)', { simple: true });
    if (verdict !== 'ok') throw new RemoraError('internal', `the copy is not sound: ${String(verdict)}`);
  } finally {
    copy.close();
  }
}
