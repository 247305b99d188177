// Reads the mounted directory of a LiteFS node: the primary, and the position of each database. The mount may hang with its node,
// and a read in it then blocks a thread of Node's pool; so there is never more than one read at a time: the others wait for their turn.
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIMARY_FILE, type Transaction } from '../../../contract/replication.ts';
import { toDateTime } from '../../../core/clock.ts';
import { errorCode } from '../../../core/error-code.ts';
import {
  type FilePosition,
  parseDatabaseHeader,
  parsePosFile,
  toDatabaseName,
  toPosName,
} from '../../../core/replication/pos-file.ts';
import { withDeadline } from '../../../core/with-deadline.ts';
import { DATABASE_CAP } from '../replica.ts';

const POS_BYTES = 64;
const HEADER_BYTES = 100;
const PRIMARY_BYTES = 1_024;
/** How often a position is read again when it changes while the size is read. */
const ATTEMPTS = 3;
const DEADLINE_MS = 5_000;
const COMPANION = /-(?:pos|journal|wal|shm)$/;

export interface MountedNode {
  /** `timestamp` is the time of the read. Undefined when the database does not exist. Rejects when the mount does not answer. */
  read(db: string): Promise<Transaction | undefined>;
  /** The databases in the directory together with those of `known`. */
  list(known: Iterable<string>): Promise<ReadonlySet<string>>;
  /** The text of `.primary`; undefined when there is no such file. */
  primary(): Promise<string | undefined>;
}

export function createMountedNode(directory: string, wall_ms: () => number): MountedNode {
  let last: Promise<unknown> = Promise.resolve();
  let isHanging = false;

  /** Rejects at the deadline, and at once while a read is past its own. */
  async function inTurn<T>(read: () => Promise<T>): Promise<T> {
    const toError = () => new Error(`${directory} does not answer`);
    if (isHanging) throw toError();
    let isLate = false;
    const turn = last.then(() => {
      if (isLate) throw toError();
      return read();
    });
    last = turn.catch(() => undefined);
    return await withDeadline(DEADLINE_MS, turn, () => {
      isLate = true;
      isHanging = true;
      // Nothing joins the queue meanwhile.
      last.then(() => {
        isHanging = false;
      });
      return toError();
    });
  }

  async function readPosition(name: string): Promise<FilePosition | undefined> {
    const bytes = await readStart(join(directory, name), POS_BYTES);
    return bytes === undefined ? undefined : parsePosFile(bytes.toString('latin1'));
  }

  async function read(db: string): Promise<Transaction | undefined> {
    const name = toPosName(db);
    if (name === undefined) return undefined;
    let position = await readPosition(name);
    for (let attempt = 0; position !== undefined && attempt < ATTEMPTS; attempt += 1) {
      const header = await readStart(join(directory, db), HEADER_BYTES);
      const size = header === undefined ? undefined : parseDatabaseHeader(header);
      const again = await readPosition(name);
      if (again?.txID === position.txID && size !== undefined && size.pageSize > 0) {
        return { ...position, ...size, timestamp: toDateTime(wall_ms()) };
      }
      position = again;
    }
    return undefined;
  }

  return {
    read: (db) => inTurn(() => read(db)),
    list: (known) =>
      inTurn(async () => {
        const found = new Set(known);
        for (const file of await readdir(directory)) {
          if (found.size >= DATABASE_CAP) break;
          const db = toDatabaseName(file) ?? file;
          if (db !== PRIMARY_FILE && !COMPANION.test(db)) found.add(db);
        }
        return found;
      }),
    primary: () =>
      inTurn(async () => {
        const bytes = await readStart(join(directory, PRIMARY_FILE), PRIMARY_BYTES);
        const name = bytes?.toString('utf8').trim();
        return name === '' ? undefined : name;
      }),
  };
}

/** Undefined when the file does not exist or is a directory. */
async function readStart(path: string, length: number): Promise<Buffer | undefined> {
  try {
    await using file = await open(path);
    const buffer = Buffer.alloc(length);
    const { bytesRead } = await file.read(buffer, 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'EISDIR') return undefined;
    throw error;
  }
}
