// Opens a database file that may be missing, damaged, read-only or on a full disk, and says which it was.
import { chmodSync, existsSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { toErrorMessage } from '../core/error-message.ts';
import { makeDirectory } from '../linux/make-directory.ts';
import { whyNotOwnDirectory } from '../linux/own-directory.ts';

export type Sqlite = Database.Database;

/** Enough for a file that one process writes a little into: SQLite's own 16 MB would be a third of what an agent takes. */
export const SMALL_PAGE_CACHE_BYTES = 1024 * 1024;

/** `file`: opened as it should be. `rebuilt`: the old file was damaged and set aside. `memory`: no file could be used. */
export type OpenState = 'file' | 'rebuilt' | 'memory';

export interface OpenedDatabase {
  readonly db: Sqlite;
  readonly state: OpenState;
  /** Why the state is not `file`, for /v1/ready and /v1/status. */
  readonly reason: string | undefined;
}

export interface OpenOptions {
  /** Each entry is run once, in order; how many have run is kept in `user_version`. Append, never edit. */
  readonly migrations: readonly string[];
  /**
   * What happens to a damaged file: `set_aside` (the default) where its data can be fetched again, `refuse` where it is the
   * only copy.
   */
  readonly onDamage?: 'set_aside' | 'refuse';
  /** How much of the file is kept in memory at most; 16 MB unless said otherwise. */
  readonly pageCache_bytes?: number;
}

/**
 * Opens `path` in WAL mode and migrates it. A damaged file is moved aside to `<path>.damaged` and a new one is made, unless the
 * options refuse that. Throws where no file can be used: a read-only or full disk, no permission, a newer schema, a directory that
 * others may write.
 */
export function openDatabase(path: string, options: OpenOptions): OpenedDatabase {
  const directory = dirname(path);
  makeDirectory(directory, 0o700);
  const problem = whyNotOwnDirectory(directory);
  if (problem !== undefined) throw new Error(problem);
  try {
    return { db: openAndMigrate(path, options), state: 'file', reason: undefined };
  } catch (error) {
    if (!isDamage(error) || options.onDamage === 'refuse') throw error;
    const aside = setAside(path);
    return {
      db: openAndMigrate(path, options),
      state: 'rebuilt',
      reason: `the database file was damaged (${toErrorMessage(error)}); it was kept as ${aside} and a new one was made`,
    };
  }
}

/**
 * Does what `openDatabase` does; where no file can be used, the data lives in memory until the process ends, with the reason.
 */
export function openDatabaseOrMemory(path: string, options: OpenOptions): OpenedDatabase {
  try {
    return openDatabase(path, options);
  } catch (error) {
    return {
      db: openAndMigrate(':memory:', options),
      state: 'memory',
      reason: `${path} cannot be used (${toErrorMessage(error)}); nothing is kept across a restart`,
    };
  }
}

function openAndMigrate(path: string, options: OpenOptions): Sqlite {
  const isNew = path !== ':memory:' && !existsSync(path);
  const db = new Database(path, { timeout: 2_000 });
  try {
    if (isNew) chmodSync(path, 0o600);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma('foreign_keys = ON');
    const { pageCache_bytes } = options;
    if (pageCache_bytes !== undefined) db.pragma(`cache_size = -${Math.ceil(pageCache_bytes / 1024)}`);
    const check = db.pragma('quick_check(1)', { simple: true });
    if (check !== 'ok') throw new DamagedError(String(check));
    migrate(db, options.migrations);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

function migrate(db: Sqlite, migrations: readonly string[]): void {
  const done = Number(db.pragma('user_version', { simple: true }));
  if (done > migrations.length) {
    throw new Error(
      `the database ${db.name} was written by a newer version (schema ${done}, this one knows ${migrations.length}); start that version`,
    );
  }
  for (const [index, sql] of migrations.entries()) {
    if (index < done) continue;
    db.transaction(() => {
      db.exec(sql);
      db.pragma(`user_version = ${index + 1}`);
    })();
  }
  proveWritable(db);
}

/** Writes the same number again, so that a file that can only be read is noticed here and not at the first write. */
function proveWritable(db: Sqlite): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  db.transaction(() => db.pragma(`user_version = ${version}`)).immediate();
}

/** Moves the file away, together with what SQLite left of its log, which must not get into the new file. */
function setAside(path: string): string {
  const aside = `${path}.damaged`;
  for (const suffix of ['', '-wal', '-shm']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}

class DamagedError extends Error {}

function isDamage(error: unknown): boolean {
  if (error instanceof DamagedError) return true;
  const code = error instanceof Database.SqliteError ? error.code : '';
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB';
}
