// Opens the agent's listeners: the main socket (at a path, or from systemd), the read-only socket, loopback TCP; or takes over those
// of the former image of this process.
import type { Server } from 'node:http';
import type { ListenerName } from '../contract/listeners.ts';
import type { Edge } from '../http/edge.ts';
import type { InheritedSocket } from '../http/inherited-sockets.ts';
import { listenOnDescriptor } from '../http/listen-on-descriptor.ts';
import { listenOnPath } from '../http/listen-on-path.ts';
import { listenOnLoopback } from '../http/listen-on-tcp.ts';
import { socketDescriptor } from '../http/socket-descriptor.ts';
import { createSocketFile, type SocketFile } from '../http/socket-file.ts';
import type { Config } from './config/load-config.ts';
import type { RestartSocket } from './hot-restart/restart-state.ts';

/** The FileDescriptorName= of the read-only socket's unit; any other inherited socket is the main one. */
const READONLY_NAME = 'readonly';

/** Disposing it removes the socket files; the edge closes the servers. */
export interface Listeners extends AsyncDisposable {
  readonly addresses: readonly string[];
  /** `host:port` of the loopback listener, if there is one. */
  readonly loopback: string | undefined;
  /** Whether the main socket belongs to systemd: while nobody serves it, callers wait in its queue. */
  readonly isLent: boolean;
  /** Gives every socket another descriptor, so that its queue outlives the current server. */
  duplicate(duplicate: (fd: number) => number): RestartSocket[];
}

/** Where the listeners come from: systemd, the former image of this process, or neither. */
export interface GivenSockets {
  readonly inherited: readonly InheritedSocket[];
  readonly restarted?: readonly RestartSocket[] | undefined;
}

interface Listener {
  readonly server: Server;
  readonly name: ListenerName;
  readonly address: string;
  readonly file?: SocketFile;
}

/** Throws ListenError when the main socket, or another one that the settings name, cannot be opened. */
export async function openListeners(edge: Edge, config: Config, given: GivenSockets): Promise<Listeners> {
  await using stack = new AsyncDisposableStack();
  const listeners: Listener[] = [];
  const group = config.socketGroup === undefined ? {} : { group: config.socketGroup };

  async function onPath(name: ListenerName, path: string): Promise<void> {
    const server = edge.createServer(name);
    const file = stack.use(await listenOnPath(server, { path, mode: config.socketMode, ...group }));
    listeners.push({ server, name, address: path, file });
  }

  async function onDescriptor(name: ListenerName, fd: number, address: string): Promise<Listener> {
    const server = edge.createServer(name);
    await listenOnDescriptor(server, fd);
    return { server, name, address };
  }

  for (const { fd, listener: name, address, file } of given.restarted ?? []) {
    const listener = await onDescriptor(name, fd, address);
    if (file === undefined) listeners.push(listener);
    else listeners.push({ ...listener, file: stack.use(createSocketFile(file.path, file.ino)) });
  }
  for (const { fd, name } of given.inherited) {
    listeners.push(await onDescriptor(name === READONLY_NAME ? 'readonly' : 'socket', fd, `fd:${fd}`));
  }
  const has = (name: ListenerName) => listeners.some((listener) => listener.name === name);
  if (!has('socket')) await onPath('socket', config.socket);
  if (config.readonlySocket !== undefined && !has('readonly')) await onPath('readonly', config.readonlySocket);
  if (config.listen !== undefined && !has('loopback')) {
    const { host, port } = config.listen;
    const server = edge.createServer('loopback');
    const address = await listenOnLoopback(server, host, port);
    listeners.push({ server, name: 'loopback', address: `${host.includes(':') ? `[${host}]` : host}:${address.port}` });
  }
  const opened = stack.move();
  return {
    addresses: listeners.map(({ address }) => address),
    loopback: listeners.find(({ name }) => name === 'loopback')?.address,
    isLent: listeners.some(({ name, file }) => name === 'socket' && file === undefined),
    duplicate: (duplicate) =>
      listeners.map(({ server, name, address, file }) => {
        const fd = socketDescriptor(server);
        if (fd === undefined) throw new Error(`the listener on ${address} has no descriptor`);
        const socket = { fd: duplicate(fd), listener: name, address };
        return file === undefined ? socket : { ...socket, file: { path: file.path, ino: file.ino } };
      }),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
