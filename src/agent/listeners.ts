// Opening the agent's doors: the socket (a path, or what systemd handed over), the read-only socket, loopback TCP; or going on with
// those of the former image of this process.
import type { Server } from 'node:http';
import type { Edge } from '../http/edge.ts';
import { type InheritedSocket, listenOnDescriptor, listenOnLoopback, listenOnPath } from '../http/listen.ts';
import { serverDescriptor } from '../http/server-descriptor.ts';
import { createSocketFile, type SocketFile } from '../http/socket-file.ts';
import type { Config } from './config/load-config.ts';
import type { Door } from './doors.ts';
import type { HandedSocket } from './handover/parcel.ts';

/** The FileDescriptorName= of the read-only socket's unit; any other inherited socket is the main one. */
const READONLY_NAME = 'readonly';

/** Disposing it removes the files; the servers are the edge's to close. */
export interface Listeners extends AsyncDisposable {
  readonly addresses: readonly string[];
  /** `host:port` of the loopback listener, if there is one. */
  readonly loopback: string | undefined;
  /** Every socket under another descriptor, so that its queue outlives the server that accepts from it now. */
  duplicate(duplicate: (fd: number) => number): HandedSocket[];
}

/** Where the doors come from: systemd, the former image of this process, or neither. */
export interface GivenSockets {
  readonly inherited: readonly InheritedSocket[];
  readonly handed?: readonly HandedSocket[] | undefined;
}

interface Listener {
  readonly server: Server;
  readonly door: Door;
  readonly address: string;
  readonly file?: SocketFile;
}

/** Throws ListenError when the main socket, or one that was asked for, cannot be had. */
export async function openListeners(edge: Edge, config: Config, given: GivenSockets): Promise<Listeners> {
  await using stack = new AsyncDisposableStack();
  const listeners: Listener[] = [];
  const group = config.socketGroup === undefined ? {} : { group: config.socketGroup };

  async function onPath(door: Door, path: string): Promise<void> {
    const server = edge.createServer(door);
    const file = stack.use(await listenOnPath(server, { path, mode: config.socketMode, ...group }));
    listeners.push({ server, door, address: path, file });
  }

  async function onDescriptor(door: Door, fd: number, address: string): Promise<Listener> {
    const server = edge.createServer(door);
    await listenOnDescriptor(server, fd);
    return { server, door, address };
  }

  for (const { fd, door, address, file } of given.handed ?? []) {
    const listener = await onDescriptor(door, fd, address);
    if (file === undefined) listeners.push(listener);
    else listeners.push({ ...listener, file: stack.use(createSocketFile(file.path, file.ino)) });
  }
  for (const { fd, name } of given.inherited) {
    listeners.push(await onDescriptor(name === READONLY_NAME ? 'readonly' : 'socket', fd, `fd:${fd}`));
  }
  const has = (door: Door) => listeners.some((listener) => listener.door === door);
  if (!has('socket')) await onPath('socket', config.socket);
  if (config.readonlySocket !== undefined && !has('readonly')) await onPath('readonly', config.readonlySocket);
  if (config.listen !== undefined && !has('loopback')) {
    const { host, port } = config.listen;
    const server = edge.createServer('loopback');
    const address = await listenOnLoopback(server, host, port);
    listeners.push({ server, door: 'loopback', address: `${host.includes(':') ? `[${host}]` : host}:${address.port}` });
  }
  const opened = stack.move();
  return {
    addresses: listeners.map(({ address }) => address),
    loopback: listeners.find(({ door }) => door === 'loopback')?.address,
    duplicate: (duplicate) =>
      listeners.map(({ server, door, address, file }) => {
        const fd = serverDescriptor(server);
        if (fd === undefined) throw new Error(`the listener on ${address} has no descriptor`);
        const handed = { fd: duplicate(fd), door, address };
        return file === undefined ? handed : { ...handed, file: { path: file.path, ino: file.ino } };
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
