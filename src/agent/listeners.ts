// Opens the agent's listeners: the main socket (at a path, or from systemd), the read-only socket, loopback TCP.
import type { ListenerName } from '../contract/listeners.ts';
import type { Edge } from '../http/edge.ts';
import type { InheritedSocket } from '../http/inherited-sockets.ts';
import { listenOnDescriptor } from '../http/listen-on-descriptor.ts';
import { listenOnPath } from '../http/listen-on-path.ts';
import { listenOnLoopback } from '../http/listen-on-tcp.ts';
import type { Config } from './config/load-config.ts';

/** The FileDescriptorName= of the read-only socket's unit; any other inherited socket is the main one. */
const READONLY_NAME = 'readonly';

/** Disposing it removes the socket files; the edge closes the servers. */
export interface Listeners extends AsyncDisposable {
  readonly addresses: readonly string[];
  /** `host:port` of the loopback listener, if there is one. */
  readonly loopback: string | undefined;
  /** Whether the main socket belongs to systemd: while nobody serves it, callers wait in its queue. */
  readonly isLent: boolean;
}

interface Listener {
  readonly name: ListenerName;
  readonly address: string;
  /** Whether it belongs to systemd. */
  readonly isLent: boolean;
}

/** Throws ListenError when the main socket, or another one that the settings name, cannot be opened. */
export async function openListeners(
  edge: Edge,
  config: Config,
  inherited: readonly InheritedSocket[],
): Promise<Listeners> {
  await using stack = new AsyncDisposableStack();
  const listeners: Listener[] = [];
  const group = config.socketGroup === undefined ? {} : { group: config.socketGroup };

  async function onPath(name: ListenerName, path: string): Promise<void> {
    const server = edge.createServer(name);
    stack.use(await listenOnPath(server, { path, mode: config.socketMode, ...group }));
    listeners.push({ name, address: path, isLent: false });
  }

  for (const { fd, name: given } of inherited) {
    const name = given === READONLY_NAME ? 'readonly' : 'socket';
    await listenOnDescriptor(edge.createServer(name), fd);
    listeners.push({ name, address: `fd:${fd}`, isLent: true });
  }
  const has = (name: ListenerName) => listeners.some((listener) => listener.name === name);
  if (!has('socket')) await onPath('socket', config.socket);
  if (config.readonlySocket !== undefined && !has('readonly')) await onPath('readonly', config.readonlySocket);
  if (config.listen !== undefined && !has('loopback')) {
    const { host, port } = config.listen;
    const server = edge.createServer('loopback');
    const address = await listenOnLoopback(server, host, port);
    const shown = `${host.includes(':') ? `[${host}]` : host}:${address.port}`;
    listeners.push({ name: 'loopback', address: shown, isLent: false });
  }
  const opened = stack.move();
  return {
    addresses: listeners.map(({ address }) => address),
    loopback: listeners.find(({ name }) => name === 'loopback')?.address,
    isLent: listeners.some(({ name, isLent }) => name === 'socket' && isLent),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
