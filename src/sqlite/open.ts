// Opening a database file that may be missing, damaged, read-only or on a full disk, and saying which it was.
import { chmodSync, existsSync, mkdirSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';

export type Sqlite = Database.Database;

/** `file`: as it should be. `rebuilt`: the old file was damaged and set aside. `memory`: no file could be used. */
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
  /** What a damaged file means: `set_aside` (the default) for what can be fetched again, `refuse` for what nobody else has. */
  readonly onDamage?: 'set_aside' | 'refuse';
}

/**
 * Opens `path` in WAL mode and migrates it. A damaged file is moved aside to `<path>.damaged` and a new one is made, unless
 * the options refuse that. Throws where there is no usable file: a read-only or full disk, no permission, a newer schema.
 */
export function openDatabase(path: string, options: OpenOptions): OpenedDatabase {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    return { db: openAndMigrate(path, options), state: 'file', reason: undefined };
  } catch (error) {
    if (!isDamage(error) || options.onDamage === 'refuse') throw error;
    const aside = setAside(path);
    return {
      db: openAndMigrate(path, options),
      state: 'rebuilt',
      reason: `the database file was damaged (${errorText(error)}); it was kept as ${aside} and a new one was made`,
    };
  }
}

/** As `openDatabase`, but where no file can be used the data lives in memory until the process ends, with the reason. */
export function openDatabaseOrMemory(path: string, options: OpenOptions): OpenedDatabase {
  try {
    return openDatabase(path, options);
  } catch (error) {
    return {
      db: openAndMigrate(':memory:', options),
      state: 'memory',
      reason: `${path} cannot be used (${errorText(error)}); nothing is kept across a restart`,
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
      `the database was written by a newer version (schema ${done}, this one knows ${migrations.length})`,
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

/** A file that can only be read is found out here and not at the first write: the same number is written again. */
function proveWritable(db: Sqlite): void {
  const version = Number(db.pragma('user_version', { simple: true }));
  db.transaction(() => db.pragma(`user_version = ${version}`)).immediate();
}

/** Moves the file out of the way, and what SQLite left of its log, which must not get into the new file. */
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

function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
