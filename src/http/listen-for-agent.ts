// The listener of a process beside the agent: the socket that systemd hands over, or a path of its own that only its user can open.
import type { Server } from 'node:http';
import type { InheritedSocket } from './inherited-sockets.ts';
import { listenOnDescriptor } from './listen-on-descriptor.ts';
import { listenOnPath } from './listen-on-path.ts';

export interface AgentListen {
  /** It is not used when systemd hands over a socket. */
  readonly socket: string;
  readonly inherited: readonly InheritedSocket[];
}

/** The disposal removes a path that was made. Throws ListenError. */
export async function listenForAgent(server: Server, { socket, inherited }: AgentListen): Promise<Disposable> {
  const given = inherited[0];
  if (given === undefined) return await listenOnPath(server, { path: socket, mode: 0o600 });
  await listenOnDescriptor(server, given.fd);
  return { [Symbol.dispose]: () => undefined };
}
