// Opens listeners: on a Unix path that no process can reach before it has its mode and group, on a descriptor handed over by
// systemd, or on loopback TCP. A live socket is refused, a stale one replaced, anything else left alone.
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import type { Server } from 'node:http';
import { type AddressInfo, connect, isIPv4 } from 'node:net';
import { dirname, join } from 'node:path';
import { getSystemErrorMessage } from 'node:util';
import { errorCode } from '../core/error-code.ts';
import { randomHex } from '../core/urandom.ts';
import { makeDirectory } from '../linux/make-directory.ts';
import { createSocketFile, type SocketFile } from './socket-file.ts';

/** sun_path holds 108 bytes with the final zero. */
const PATH_CAP_BYTES = 107;
const PROBE_MS = 2_000;
const BACKLOG = 1_024;
/** How often the path may change during an attempt before `listenOnPath` gives up. */
const ATTEMPTS = 5;
const INHERITED_CAP = 16;

export type ListenErrorCode =
  | 'socket_in_use'
  | 'not_a_socket'
  | 'path_too_long'
  | 'unknown_group'
  | 'not_loopback'
  | 'bad_descriptor'
  | 'address_in_use'
  | 'cannot_listen';

/** Why a listener could not be opened, for the person who starts the daemon. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code: ListenErrorCode;

  constructor(code: ListenErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

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
  const cradle = join(directory, `.${randomHex(4)}`);
  const early = join(cradle, 's');
  if (Math.max(Buffer.byteLength(path), Buffer.byteLength(early)) > PATH_CAP_BYTES) {
    throw new ListenError(
      'path_too_long',
      `the socket path ${path} is too long for a Unix socket; choose a shorter one`,
    );
  }
  await checkStale(path);
  mkdirSync(cradle, { mode: 0o700 });
  try {
    await started(server, () => server.listen({ path: early, backlog: BACKLOG }));
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

/**
 * Listens on an inherited descriptor (systemd socket activation). The file stays: it belongs to the process that handed it
 * over.
 */
export async function listenOnDescriptor(server: Server, fd: number): Promise<void> {
  try {
    await started(server, () => server.listen({ fd }, BACKLOG));
  } catch (cause) {
    throw new ListenError('bad_descriptor', `descriptor ${fd} was handed over but is not a listening socket`, {
      cause,
    });
  }
}

/** Listens on a loopback address. Port 0 takes a free one. Any other host throws `not_loopback`. */
export async function listenOnLoopback(server: Server, host: string, port: number): Promise<AddressInfo> {
  const refusal = () =>
    new ListenError('not_loopback', `${host} is not a loopback address; listen on 127.0.0.1 or ::1`);
  if (!isLoopback(host)) throw refusal();
  const address = await listenOnTcp(server, host, port);
  if (isLoopback(address.address)) return address;
  await new Promise((resolve) => server.close(resolve));
  throw refusal();
}

/** Listens on any TCP address, for the platform. */
export async function listenOnTcp(server: Server, host: string, port: number): Promise<AddressInfo> {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  const name = `${bare.includes(':') ? `[${bare}]` : bare}:${port}`;
  try {
    await started(server, () => server.listen({ host: bare, port, backlog: BACKLOG }));
  } catch (error) {
    throw toListenError(error, `cannot listen on ${name}`);
  }
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP listener has no address');
  return address;
}

/** True for `localhost`, 127.0.0.0/8 and ::1, with or without brackets. */
export function isLoopback(host: string): boolean {
  return /^localhost$/i.test(host) || host === '::1' || host === '[::1]' || (host.startsWith('127.') && isIPv4(host));
}

export interface InheritedSocket {
  readonly fd: number;
  /** The name in LISTEN_FDNAMES; empty when the socket has none. */
  readonly name: string;
}

/**
 * The sockets that systemd handed over (sd_listen_fds(3)): descriptors from 3 on, when LISTEN_PID is this process or, for a
 * launcher that cannot know this pid, not set. The variables are removed from `env`, because they are not meant for children.
 */
export function takeInheritedSockets(env: NodeJS.ProcessEnv, pid: number): InheritedSocket[] {
  const count = Number(env.LISTEN_FDS ?? 0);
  const isMeant = env.LISTEN_PID === undefined || Number(env.LISTEN_PID) === pid;
  const names = (env.LISTEN_FDNAMES ?? '').split(':');
  delete env.LISTEN_FDS;
  delete env.LISTEN_PID;
  delete env.LISTEN_FDNAMES;
  if (!isMeant || !Number.isInteger(count) || count < 1) return [];
  return Array.from({ length: Math.min(count, INHERITED_CAP) }, (_, index) => ({
    fd: 3 + index,
    name: names[index] ?? '',
  }));
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

/** Puts the error of the kernel into words. */
function toListenError(error: unknown, what: string): unknown {
  if (!(error instanceof Error && 'errno' in error && typeof error.errno === 'number')) return error;
  const isInUse = errorCode(error) === 'EADDRINUSE';
  const why = isInUse
    ? 'another process listens there; stop it or choose another address'
    : getSystemErrorMessage(error.errno);
  return new ListenError(isInUse ? 'address_in_use' : 'cannot_listen', `${what}: ${why}`, { cause: error });
}

function inUse(path: string): ListenError {
  return new ListenError('socket_in_use', `another process is serving on ${path}; stop it or choose another path`);
}

function started(server: Server, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onListening = () => {
      server.off('error', onError);
      resolve();
    };
    const onError = (error: Error) => {
      server.off('listening', onListening);
      reject(error);
    };
    server.once('listening', onListening);
    server.once('error', onError);
    listen();
  });
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
