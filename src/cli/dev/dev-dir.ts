// The directory of one `remora dev`: made, checked, held against a second one, and removed at the end when nobody asked for it.
import { chmodSync, lstatSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join, resolve } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import { openLock } from '../../sqlite/lock.ts';
import { defaultDevDir } from './default-dev-dir.ts';

export interface DevDir extends Disposable {
  readonly path: string;
  /** Whether it goes at the end. */
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
  if (temporary) checkOwner(path);
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

/** Anybody may make a name in the directory for temporary files, and would then own what is put there. */
function checkOwner(path: string): void {
  const stat = lstatSync(path);
  if (!stat.isDirectory() || stat.uid !== userInfo().uid) {
    throw new Error(`${path} belongs to somebody else; choose a directory with --dir DIR`);
  }
  chmodSync(path, 0o700);
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

/** A Unix socket's path may have 107 bytes, and one more is used while it is made. */
const SOCKET_PATH_CAP_BYTES = 106;

export interface SocketPlace extends Disposable {
  readonly path: string;
}

/** In `dir`, or, when that path is too long for a socket, in a directory made for it. */
export function openSocketPlace(dir: string, random: () => string): SocketPlace {
  const path = join(dir, 'agent.sock');
  if (Buffer.byteLength(path) <= SOCKET_PATH_CAP_BYTES) {
    return { path, [Symbol.dispose]: () => rmSync(path, { force: true }) };
  }
  const short = join(tmpdir(), `remora-${random()}`);
  mkdirSync(short, { mode: 0o700 });
  return { path: join(short, 'agent.sock'), [Symbol.dispose]: () => rmSync(short, { recursive: true, force: true }) };
}
