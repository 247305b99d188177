// The way from a machine to its platform: a listener in the network of the machine, which has nothing else, and a connection to the
// platform for each one that comes. It ends with the platform; the next one opens its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream';
import { RemoraError } from '../../../../../core/remora-error.ts';

export interface GuestListenerOptions {
  /** The emulator, which is in the network. */
  readonly pid: number;
  /** Whether the network belongs to a user namespace, which the one that opens a listener has to enter too. */
  readonly hasUserNamespace: boolean;
  /** The address of that network that leads to the platform. */
  readonly host: string;
  /** The platform; read for each connection. */
  readonly platform: () => { readonly host: string; readonly port: number };
}

const OPEN_MS = 10_000;
/** Of one machine. */
const CONNECTIONS = 1_024;

/** Resolves when the machine reaches the platform. Throws `internal`. */
export async function openGuestListener(options: GuestListenerOptions): Promise<Disposable> {
  const server = await openInNetwork(options);
  const sockets = new Set<Socket>();
  server.maxConnections = CONNECTIONS;
  server.on('error', () => undefined);
  server.on('connection', (guest: Socket) => {
    const platform = connect({ ...options.platform(), allowHalfOpen: true });
    guest.allowHalfOpen = true;
    for (const [from, to] of [
      [guest, platform],
      [platform, guest],
    ] as const) {
      sockets.add(from);
      from.once('close', () => sockets.delete(from));
      pipeline(from, to, () => undefined);
    }
  });
  return {
    [Symbol.dispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

async function openInNetwork({ pid, hasUserNamespace, host }: GuestListenerOptions): Promise<Server> {
  const namespaces = [
    ...(hasUserNamespace ? ['--user', '--preserve-credentials'] : []),
    '--net',
    '--target',
    String(pid),
  ];
  const main = new URL('./listen-main.ts', import.meta.url).pathname;
  const child = spawn('nsenter', [...namespaces, '--', process.execPath, main, host], {
    cwd: '/',
    env: { PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  child.once('error', () => undefined);
  try {
    const [, handle] = await once(child, 'message', { signal: AbortSignal.timeout(OPEN_MS) });
    if (handle === undefined) throw new Error('it sent no listener');
    return handle as Server;
  } catch (cause) {
    child.kill('SIGKILL');
    throw new RemoraError('internal', 'the way from the machine to the platform could not be opened', { cause });
  }
}
