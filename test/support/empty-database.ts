// A database of a platform that nothing is in yet. Its migrations take half of the start of a platform, so a process runs them once.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStorage, SQLITE_FILE } from '../../src/platform/storage/sqlite-storage.ts';
import { makeMemoryDir } from './memory-dir.ts';

let made: Promise<Buffer> | undefined;

/** `dir` is empty. */
export async function placeEmptyDatabase(dir: string): Promise<void> {
  made ??= makeEmptyDatabase();
  writeFileSync(join(dir, SQLITE_FILE), await made, { mode: 0o600 });
}

async function makeEmptyDatabase(): Promise<Buffer> {
  const dir = makeMemoryDir();
  try {
    await openSqliteStorage(dir)[Symbol.asyncDispose]();
    return readFileSync(join(dir, SQLITE_FILE));
  } finally {
    rmSync(dir, { recursive: true });
  }
}
