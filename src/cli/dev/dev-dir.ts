// The directory of one `remora dev`: made, checked and locked, and removed at the end when it is the default one.
import { chmodSync, lstatSync, mkdirSync, rmSync, type Stats } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import { openLock } from '../../sqlite/lock.ts';
import { defaultDevDir } from './default-dev-dir.ts';
import { RECORD_NAMES } from './dev-record.ts';

export interface DevDir extends Disposable {
  readonly path: string;
  /** Whether the directory is removed at the end. */
  readonly temporary: boolean;
}

/**
 * Opens `given`, or the default directory. Throws when it is not a directory of this user alone, and `conflict` when
 * another `remora dev` holds it.
 */
export function openDevDir(given: string | undefined): DevDir {
  const temporary = given === undefined;
  const path = given === undefined ? defaultDevDir() : resolve(given);
  mkdirSync(path, { recursive: true, mode: 0o700 });
  checkOwn(path, true);
  if (temporary) chmodSync(path, 0o700);
  for (const name of NAMES) checkOwn(join(path, name), false);
  const lock = openDevLock(path);
  return {
    path,
    temporary,
    [Symbol.dispose]() {
      if (temporary) rmSync(path, { recursive: true, force: true });
      lock[Symbol.dispose]();
    },
  };
}

/** The names that are made in the directory. Each must be this user's: another owner could read the file, or link it elsewhere. */
const NAMES = [
  ...['dev.lock', 'platform', 'node', 'vault.key', 'platform.log', 'agent.sock', 'extension', 'extension.key'],
  ...RECORD_NAMES,
];

/** Every user can make names in a directory for temporary files, and would own the files written under them. */
function checkOwn(path: string, isDirectory: boolean): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return;
  const problem = toProblem(stat, isDirectory);
  if (problem !== undefined) throw new Error(`${path} ${problem}; choose a directory of your own with --dir DIR`);
}

function toProblem(stat: Stats, isDirectory: boolean): string | undefined {
  if (stat.isSymbolicLink()) return 'is a link, and links are not followed here';
  if (isDirectory && !stat.isDirectory()) return 'is no directory';
  if (stat.uid !== userInfo().uid) return 'belongs to somebody else';
  // A socket may allow every user to connect: its directory keeps them out. The primary group of a user is often that user's alone.
  const others = stat.gid === userInfo().gid ? 0o002 : 0o022;
  if ((stat.mode & others) !== 0 && !stat.isSocket()) return 'may be changed by others (chmod go-w)';
  return undefined;
}

function openDevLock(path: string): Disposable {
  try {
    return openLock(join(path, 'dev.lock'));
  } catch (error) {
    if (!(error instanceof RemoraError) || error.code !== 'conflict') throw error;
    throw new RemoraError(
      'conflict',
      `another remora dev runs in ${path}; use --dir DIR and --port 0 for a second one`,
    );
  }
}

/** A Unix socket's path may have 107 bytes; while it is made, its name is one byte longer. */
const SOCKET_PATH_CAP_BYTES = 106;

export interface SocketPlace extends Disposable {
  readonly path: string;
}

/** Makes the place of the socket: in `dir`, or, when that path is too long, in a new temporary directory. */
export function openSocketPlace(dir: string, random: () => string): SocketPlace {
  const path = join(dir, 'agent.sock');
  if (Buffer.byteLength(path) <= SOCKET_PATH_CAP_BYTES) {
    return { path, [Symbol.dispose]: () => rmSync(path, { force: true }) };
  }
  const short = join(tmpdir(), `remora-${random()}`);
  mkdirSync(short, { mode: 0o700 });
  return { path: join(short, 'agent.sock'), [Symbol.dispose]: () => rmSync(short, { recursive: true, force: true }) };
}
