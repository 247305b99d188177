// The way from a machine to its platform, and to a database node of the platform's: listeners in the network of the machine, which has
// nothing else, and a connection for each one that comes. It ends with the platform; the next one opens its own.
import { connect, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { openInNetwork } from './open-in-network.ts';

export interface Place {
  readonly host: string;
  readonly port: number;
}

export interface GuestListenerOptions {
  /** The emulator, which is in the network. */
  readonly pid: number;
  /** Whether the network belongs to a user namespace, which the one that opens a listener has to enter too. */
  readonly hasUserNamespace: boolean;
  /** The address of that network on which the listeners are. */
  readonly host: string;
  /** `port`: in the network of the machine. `to`: where its connections lead; read for each one. */
  readonly ways: readonly { readonly port: number; readonly to: () => Place }[];
}

/** Bounds the connections of one machine to each port. */
const CONNECTIONS = 1_024;

/** Resolves when the machine reaches the places. Throws `internal`. */
export async function openGuestListener(options: GuestListenerOptions): Promise<Disposable> {
  const { pid, hasUserNamespace, host } = options;
  const ports = options.ways.map(({ port }) => port);
  const servers = await openInNetwork({ pid, hasUserNamespace, host, ports });
  const sockets = new Set<Socket>();
  for (const [index, { to }] of options.ways.entries()) {
    const server = servers[index];
    if (server === undefined) continue;
    server.maxConnections = CONNECTIONS;
    server.on('error', () => undefined);
    server.on('connection', (guest: Socket) => join(guest, to(), sockets));
  }
  return {
    [Symbol.dispose]() {
      for (const server of servers) server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

function join(guest: Socket, place: Place, sockets: Set<Socket>): void {
  const far = connect({ ...place, allowHalfOpen: true });
  guest.allowHalfOpen = true;
  for (const [from, to] of [
    [guest, far],
    [far, guest],
  ] as const) {
    sockets.add(from);
    from.once('close', () => sockets.delete(from));
    pipeline(from, to, () => undefined);
  }
}
