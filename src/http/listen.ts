// Getting a server to listen: on a Unix path that nobody can reach before it has its mode and group, on a descriptor handed
// over by systemd, or on loopback TCP. A live socket is refused, a stale one replaced, anything else left alone.
import { chmodSync, chownSync, lstatSync, mkdirSync, readFileSync, renameSync, unlinkSync } from 'node:fs';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { dirname } from 'node:path';

/** sun_path holds 108 bytes with the final zero; the name used before the rename is one byte longer than the path. */
const PATH_CAP_BYTES = 106;
const PROBE_MS = 2_000;
const BACKLOG = 1_024;

export type ListenErrorCode = 'socket_in_use' | 'not_a_socket' | 'path_too_long' | 'unknown_group' | 'not_loopback';

/** Why a listener could not be opened, for the person who starts the daemon. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly code: ListenErrorCode;

  constructor(code: ListenErrorCode, message: string) {
    super(message);
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

/** Listens on `path`. The result removes the socket file again, if it is still the one that was made here. */
export async function listenOnPath(server: Server, options: UnixListen): Promise<Disposable> {
  const { path, mode } = options;
  if (Buffer.byteLength(path) > PATH_CAP_BYTES) {
    throw new ListenError(
      'path_too_long',
      `the socket path ${path} has more than ${PATH_CAP_BYTES} bytes; choose a shorter one`,
    );
  }
  const gid = options.group === undefined ? undefined : toGroupId(options.group);
  mkdirSync(dirname(path), { recursive: true, mode: 0o755 });
  await clearStale(path);
  const early = `${path}~`;
  await clearStale(early);
  const umask = process.umask(0o777);
  const listening = started(server);
  try {
    server.listen({ path: early, backlog: BACKLOG });
  } finally {
    process.umask(umask);
  }
  await listening;
  if (gid !== undefined) chownSync(early, -1, gid);
  chmodSync(early, mode);
  const { ino } = lstatSync(early);
  renameSync(early, path);
  return {
    [Symbol.dispose]() {
      if (inodeOf(path) === ino) unlinkSync(path);
    },
  };
}

/** Listens on an inherited descriptor (systemd socket activation). The file stays: it belongs to who handed it over. */
export async function listenOnDescriptor(server: Server, fd: number): Promise<void> {
  const listening = started(server);
  server.listen({ fd });
  await listening;
}

/** Listens on a loopback address. Port 0 takes a free one. Any other host throws `not_loopback`. */
export async function listenOnLoopback(server: Server, host: string, port: number): Promise<AddressInfo> {
  if (!isLoopback(host)) {
    throw new ListenError('not_loopback', `${host} is not a loopback address; listen on 127.0.0.1 or ::1`);
  }
  return await listenOnTcp(server, host, port);
}

/** Listens on any TCP address, for the platform. */
export async function listenOnTcp(server: Server, host: string, port: number): Promise<AddressInfo> {
  const listening = started(server);
  server.listen({ host, port, backlog: BACKLOG });
  await listening;
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP listener has no address');
  return address;
}

/** True for `localhost`, 127.0.0.0/8 and ::1, with or without brackets. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

export interface InheritedSocket {
  readonly fd: number;
  /** From LISTEN_FDNAMES; empty when unnamed. */
  readonly name: string;
}

/**
 * The sockets that systemd handed over (sd_listen_fds(3)): descriptors from 3 on, when LISTEN_PID is this process. The
 * variables are taken out of `env`, so that children do not believe they are meant.
 */
export function takeInheritedSockets(env: NodeJS.ProcessEnv, pid: number): InheritedSocket[] {
  const count = Number(env.LISTEN_FDS ?? 0);
  const meant = env.LISTEN_PID === undefined || Number(env.LISTEN_PID) === pid;
  const names = (env.LISTEN_FDNAMES ?? '').split(':');
  delete env.LISTEN_FDS;
  delete env.LISTEN_PID;
  delete env.LISTEN_FDNAMES;
  if (!meant || !Number.isInteger(count) || count < 1) return [];
  return Array.from({ length: Math.min(count, 16) }, (_, index) => ({ fd: 3 + index, name: names[index] ?? '' }));
}

async function clearStale(path: string): Promise<void> {
  const before = statOf(path);
  if (before === undefined) return;
  if (!before.isSocket()) {
    throw new ListenError('not_a_socket', `${path} exists and is not a socket; it is left alone, choose another path`);
  }
  if (await answers(path)) {
    throw new ListenError('socket_in_use', `another process is serving on ${path}; stop it or choose another path`);
  }
  if (inodeOf(path) === before.ino) unlinkSync(path);
}

/** True unless the kernel says that nobody listens there. A full backlog (EAGAIN) or silence counts as somebody. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const done = (live: boolean) => {
      socket.destroy();
      resolve(live);
    };
    socket.setTimeout(PROBE_MS, () => done(true));
    socket.once('connect', () => done(true));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      done(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    );
  });
}

function started(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('listening', resolve);
    server.once('error', reject);
  });
}

function statOf(path: string) {
  return lstatSync(path, { throwIfNoEntry: false });
}

function inodeOf(path: string): number | undefined {
  return statOf(path)?.ino;
}

function toGroupId(group: string): number {
  if (/^\d+$/.test(group)) return Number(group);
  for (const line of readFileSync('/etc/group', 'utf8').split('\n')) {
    const [name, , gid] = line.split(':');
    if (name === group && gid !== undefined) return Number(gid);
  }
  throw new ListenError('unknown_group', `there is no group ${group}; create it or unset the socket group`);
}
