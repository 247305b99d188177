// Opens a listener on a Unix path that no process can reach before it has its mode and group. A live socket is refused, a stale one
// replaced, anything else left alone.
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { errorCode } from '../core/error-code.ts';
import { makeDirectory } from '../linux/make-directory.ts';
import { ListenError, toListenError } from './listen-error.ts';
import { createSocketFile, type SocketFile } from './socket-file.ts';
import { BACKLOG, startListening } from './start-listening.ts';

/** sun_path holds 108 bytes with the final zero. */
const PATH_CAP_BYTES = 107;
/** The name of a new directory, and of the socket in it. */
const CRADLE_BYTES = 'XXXXXX/s'.length;
const PROBE_MS = 2_000;
/** How often the path may change during an attempt before `listenOnPath` gives up. */
const ATTEMPTS = 5;

export interface UnixListen {
  readonly path: string;
  /** File mode of the socket, for example 0o660. */
  readonly mode: number;
  /** Name or number; the group of the process when absent. */
  readonly group?: string;
}

/**
 * Listens on `path`. The socket is made in a directory that only this user can enter, gets its mode and group there, and is
 * then linked to its name in one step that fails when the name is taken. So no client connects too early, and one of several
 * starters wins. The result removes the file again, if it is still the one that was made here.
 */
export async function listenOnPath(server: Server, options: UnixListen): Promise<SocketFile> {
  try {
    return await makeSocket(server, options);
  } catch (error) {
    throw toListenError(error, `the socket ${options.path} cannot be made`);
  }
}

async function makeSocket(server: Server, options: UnixListen): Promise<SocketFile> {
  const { path, mode } = options;
  const gid = options.group === undefined ? undefined : toGroupId(options.group);
  const directory = dirname(path);
  makeDirectory(directory, 0o755);
  const cradleOf = `${directory}/.`;
  if (Math.max(Buffer.byteLength(path), Buffer.byteLength(cradleOf) + CRADLE_BYTES) > PATH_CAP_BYTES) {
    throw new ListenError(
      'path_too_long',
      `the socket path ${path} is too long for a Unix socket; choose a shorter one`,
    );
  }
  await checkStale(path);
  // Only this user can enter it.
  const cradle = mkdtempSync(cradleOf);
  const early = join(cradle, 's');
  try {
    await startListening(server, () => server.listen({ path: early, backlog: BACKLOG }));
    try {
      if (gid !== undefined) chownSync(early, -1, gid);
      chmodSync(early, mode);
      const { ino } = lstatSync(early);
      await linkOver(early, path);
      return createSocketFile(path, ino);
    } catch (error) {
      await new Promise((resolve) => server.close(resolve));
      throw error;
    }
  } finally {
    rmSync(cradle, { recursive: true });
  }
}

/** Gives `early` the name `path`, whose stale socket it replaces. Throws when the name belongs to anything else. */
async function linkOver(early: string, path: string): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      linkSync(early, path);
      return;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error;
    }
    await removeStale(path, await checkStale(path), `${early}~`);
  }
  throw new ListenError('socket_in_use', `others keep taking ${path}; stop them or choose another path`);
}

/**
 * Throws `not_a_socket` or `socket_in_use` unless nothing, or the socket of a process that is gone, is at `path`.
 * @returns the inode of that stale socket.
 */
async function checkStale(path: string): Promise<number | undefined> {
  const stat = statOf(path);
  if (stat === undefined) return undefined;
  if (!stat.isSocket()) {
    throw new ListenError('not_a_socket', `${path} exists and is not a socket; it is left alone, choose another path`);
  }
  if (await answers(path)) throw inUse(path);
  return stat.ino;
}

/** Moves the stale socket aside before it is removed: if it turns out to be another starter's, it gets its name back. */
async function removeStale(path: string, ino: number | undefined, aside: string): Promise<void> {
  if (ino === undefined || statOf(path)?.ino !== ino) return;
  renameSync(path, aside);
  if (await answers(aside)) {
    renameSync(aside, path);
    throw inUse(path);
  }
  unlinkSync(aside);
}

/** True unless the kernel says that no process listens there. A full backlog (EAGAIN) or silence counts as a listener. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const done = (isLive: boolean) => {
      socket.destroy();
      resolve(isLive);
    };
    socket.setTimeout(PROBE_MS, () => done(true));
    socket.once('connect', () => done(true));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

function inUse(path: string): ListenError {
  return new ListenError('socket_in_use', `another process is serving on ${path}; stop it or choose another path`);
}

function statOf(path: string) {
  return lstatSync(path, { throwIfNoEntry: false });
}

function toGroupId(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  for (const line of readFileSync('/etc/group', 'utf8').split('\n')) {
    const [name, , gid] = line.split(':');
    if (name === group && gid !== undefined) return Number(gid);
  }
  throw new ListenError('unknown_group', `there is no group ${group}; create it or unset the socket group`);
}
