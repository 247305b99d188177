// The database of the development node: a SQLite file in rollback-journal mode. The node writes rows (beats), other programs may write
// too, and after each transaction the file is read as one consistent image.
import Database from 'better-sqlite3';
import type { NodeTransaction } from './node-event.ts';
import { createPageChecksums } from './page-checksums.ts';
import { parseSqliteHeader } from './sqlite-header.ts';

/** The largest file: its image is kept in memory and read again after each transaction. */
const IMAGE_CAP_BYTES = 64 * 1024 * 1024;
/** How long a beat waits for another writer before it is left out. The event loop is blocked meanwhile. */
const BUSY_MS = 20;
const KEPT_BEATS = 1_000;

export interface DatabaseFile extends Disposable {
  /** Writes one row in one transaction. False, and nothing is written, when another writer holds the file. */
  beat(wall_ms: number): boolean;
  /**
   * Reads the newest transaction; `undefined` when there was none since the last call or another writer holds the file. Several
   * transactions between two calls appear as one whose id has jumped. Throws for a file over 64 MiB.
   */
  readNewest(wall_ms: number): NodeTransaction | undefined;
  /** True while the file is in WAL mode, where transactions appear only after a checkpoint. */
  readonly wal: boolean;
}

/** Opens or makes the file. Throws when it is no database or cannot be written. */
export function openDatabaseFile(path: string): DatabaseFile {
  const writer = new Database(path, { timeout: 2_000 });
  const reader = new Database(path, { timeout: 0 });
  try {
    writer.pragma('journal_mode = DELETE');
    writer.exec('CREATE TABLE IF NOT EXISTS beat (id INTEGER PRIMARY KEY AUTOINCREMENT, time TEXT NOT NULL)');
    writer.pragma(`busy_timeout = ${BUSY_MS}`);
  } catch (error) {
    writer.close();
    reader.close();
    throw error;
  }
  const insert = writer.prepare('INSERT INTO beat (time) VALUES (?)');
  const prune = writer.prepare('DELETE FROM beat WHERE id <= ?');
  const write = writer.transaction((wall_ms: number) => {
    const { lastInsertRowid } = insert.run(new Date(wall_ms).toISOString());
    prune.run(Number(lastInsertRowid) - KEPT_BEATS);
  });
  const readImage = reader.transaction(() => {
    const size_bytes = readNumber(reader, 'page_count') * readNumber(reader, 'page_size');
    if (size_bytes <= IMAGE_CAP_BYTES) return reader.serialize();
    throw new Error(`${path} has ${size_bytes} bytes; the development node takes at most ${IMAGE_CAP_BYTES}`);
  });
  const checksums = createPageChecksums();
  let version: number | undefined;
  let lastCounter: number | undefined;
  let wal = false;

  return {
    beat(wall_ms) {
      return unlessBusy(() => write.immediate(wall_ms)) !== busy;
    },
    readNewest(wall_ms) {
      const newVersion = unlessBusy(() => readNumber(reader, 'data_version'));
      if (newVersion === busy || newVersion === version) return undefined;
      const image = unlessBusy(readImage);
      if (image === busy) return undefined;
      version = newVersion;
      const header = parseSqliteHeader(image);
      if (header === undefined) throw new Error(`${path} does not begin like a SQLite database`);
      wal = header.journal === 'wal';
      if (header.changeCounter === lastCounter) return undefined;
      lastCounter = header.changeCounter;
      return {
        changeCounter: header.changeCounter,
        checksum: checksums.update(image, header.pageSize),
        pageSize: header.pageSize,
        pageCount: header.pageCount ?? image.length / header.pageSize,
        wall_ms,
      };
    },
    get wal() {
      return wal;
    },
    [Symbol.dispose]() {
      writer.close();
      reader.close();
    },
  };
}

function readNumber(db: Database.Database, pragma: string): number {
  return Number(db.pragma(pragma, { simple: true }));
}

const busy = Symbol('another writer holds the database file');

function unlessBusy<T>(work: () => T): T | typeof busy {
  try {
    return work();
  } catch (error) {
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) return busy;
    throw error;
  }
}
