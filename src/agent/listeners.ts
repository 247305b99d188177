// Opening the agent's doors: the socket (a path, or what systemd handed over), the read-only socket, loopback TCP.
import type { Edge } from '../http/edge.ts';
import { type InheritedSocket, listenOnDescriptor, listenOnLoopback, listenOnPath } from '../http/listen.ts';
import type { Config } from './config/load-config.ts';

/** The FileDescriptorName= of the read-only socket's unit; any other inherited socket is the main one. */
const READONLY_NAME = 'readonly';

export interface Listeners extends AsyncDisposable {
  readonly addresses: readonly string[];
  /** `host:port` of the loopback listener, if there is one. */
  readonly loopback: string | undefined;
}

/** Throws ListenError when the main socket, or one that was asked for, cannot be had. */
export async function openListeners(
  edge: Edge,
  config: Config,
  inherited: readonly InheritedSocket[],
): Promise<Listeners> {
  await using stack = new AsyncDisposableStack();
  const addresses: string[] = [];
  let loopback: string | undefined;
  const group = config.socketGroup === undefined ? {} : { group: config.socketGroup };

  async function onPath(door: string, path: string): Promise<void> {
    stack.use(await listenOnPath(edge.createServer(door), { path, mode: config.socketMode, ...group }));
    addresses.push(path);
  }

  for (const { fd, name } of inherited) {
    await listenOnDescriptor(edge.createServer(name === READONLY_NAME ? 'readonly' : 'socket'), fd);
    addresses.push(`fd:${fd}`);
  }
  const given = (door: 'socket' | 'readonly') =>
    inherited.some(({ name }) => (name === READONLY_NAME) === (door === 'readonly'));
  if (!given('socket')) await onPath('socket', config.socket);
  if (config.readonlySocket !== undefined && !given('readonly')) await onPath('readonly', config.readonlySocket);
  if (config.listen !== undefined) {
    const { host, port } = config.listen;
    const address = await listenOnLoopback(edge.createServer('loopback'), host, port);
    loopback = `${host.includes(':') ? `[${host}]` : host}:${address.port}`;
    addresses.push(loopback);
  }
  const opened = stack.move();
  return { addresses, loopback, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
