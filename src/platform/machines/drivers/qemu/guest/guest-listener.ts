// The way from a machine to its platform, and to a database node of the platform's: listeners in the network of the machine, which has
// nothing else, and a connection for each one that comes. It ends with the platform; the next one opens its own.
import { spawn } from 'node:child_process';
import { on } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { RemoraError } from '../../../../../core/remora-error.ts';

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

const OPEN_MS = 10_000;
/** Of one machine, for each port. */
const CONNECTIONS = 1_024;

/** Resolves when the machine reaches the places. Throws `internal`. */
export async function openGuestListener(options: GuestListenerOptions): Promise<Disposable> {
  const servers = await openInNetwork(options);
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

/** A listener for each of the ways, in their order. */
async function openInNetwork({ pid, hasUserNamespace, host, ways }: GuestListenerOptions): Promise<readonly Server[]> {
  const namespaces = [
    ...(hasUserNamespace ? ['--user', '--preserve-credentials'] : []),
    '--net',
    '--target',
    String(pid),
  ];
  const main = new URL('./listen-main.ts', import.meta.url).pathname;
  const ports = ways.map(({ port }) => String(port));
  const child = spawn('nsenter', [...namespaces, '--', process.execPath, main, host, ...ports], {
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.once('error', () => undefined);
  const servers: Server[] = [];
  try {
    for await (const [, handle] of on(child, 'message', {
      signal: AbortSignal.timeout(OPEN_MS),
      close: ['disconnect'],
    })) {
      if (handle === undefined) throw new Error('it sent no listener');
      servers.push(handle as Server);
      if (servers.length === ways.length) return servers;
    }
    throw new Error('it ended before it had sent every listener');
  } catch (cause) {
    child.kill('SIGKILL');
    for (const server of servers) server.close();
    throw new RemoraError('internal', 'the way from the machine to the platform could not be opened', { cause });
  }
}
