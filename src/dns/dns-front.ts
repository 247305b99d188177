// Where the questions of programs for names arrive, over UDP and TCP, on the loopback of a machine that has a network policy: in the process that
// resolves them, and in the agent while that one is away.
import { createSocket, type RemoteInfo, type Socket as UdpSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createFrameReader, toFrame } from '../core/dns/tcp-frames.ts';
import { errorCode } from '../core/error-code.ts';

const CONNECTIONS_MAX = 64;
const IDLE_MS = 10_000;
const TRIES = 20;

export interface Asker {
  readonly transport: 'udp' | 'tcp';
  /** The port of the program, on this machine. */
  readonly port: number;
}

/** The answer to one message; undefined for what must not be answered. Aborted when the front is closed. Never rejects. */
export type Resolve = (message: Buffer, asker: Asker, signal: AbortSignal) => Promise<Uint8Array | undefined>;

export interface DnsFront extends AsyncDisposable {
  /** UDP and TCP, on 127.0.0.1 and, where there is IPv6, on ::1. */
  readonly port: number;
}

/**
 * Rejects with the error of the system when there is no free port: EADDRINUSE where a program has the one that is wanted. No address is shared
 * with another process, which would get questions too.
 *
 * @param wanted the port; any free one when absent.
 */
export async function openDnsFront(resolve: Resolve, wanted = 0): Promise<DnsFront> {
  const end = new AbortController();
  const { signal } = end;

  function onDatagram(socket: UdpSocket, message: Buffer, { address, port }: RemoteInfo): void {
    void resolve(message, { transport: 'udp', port }, signal).then((answer) => {
      if (answer !== undefined && !signal.aborted) socket.send(answer, port, address);
    });
  }

  const connections = new Set<Socket>();
  function onConnection(socket: Socket): void {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
    socket.on('error', () => undefined);
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    const asker = { transport: 'tcp', port: socket.remotePort ?? 0 } as const;
    // One question after the other: who asks many on one connection waits for itself.
    let turn = Promise.resolve();
    let waiting = 0;
    const frames = createFrameReader((message) => {
      waiting += 1;
      socket.pause();
      turn = turn
        .then(() => resolve(message, asker, signal))
        .then((answer) => {
          if (answer === undefined) socket.destroy();
          else if (!socket.destroyed) socket.write(toFrame(answer));
        })
        .catch(() => void socket.destroy())
        .finally(() => {
          waiting -= 1;
          if (waiting === 0) socket.resume();
        });
    });
    socket.on('data', frames);
    socket.once('end', () => void turn.finally(() => socket.end()));
  }

  const bound = await bind(wanted, onDatagram, onConnection);
  return {
    port: bound.port,
    async [Symbol.asyncDispose]() {
      end.abort();
      for (const socket of connections) socket.destroy();
      await bound.close();
    },
  };
}

type OnDatagram = (socket: UdpSocket, message: Buffer, from: RemoteInfo) => void;

/** The four listeners have one port: where none is wanted, another one is tried when a program holds it already on one of them. */
async function bind(wanted: number, onDatagram: OnDatagram, onConnection: (socket: Socket) => void) {
  for (let tries = 0; ; tries += 1) {
    const stack = new AsyncDisposableStack();
    try {
      const udp = await bindUdp('udp4', wanted, onDatagram);
      stack.defer(() => void udp.close());
      const { port } = udp.address();
      stack.use(await listen('127.0.0.1', port, onConnection));
      if (await hasIpv6()) {
        const udp6 = await bindUdp('udp6', port, onDatagram);
        stack.defer(() => void udp6.close());
        stack.use(await listen('::1', port, onConnection));
      }
      return { port, close: () => stack.disposeAsync() };
    } catch (error) {
      await stack.disposeAsync();
      if (errorCode(error) !== 'EADDRINUSE' || wanted !== 0 || tries >= TRIES) throw error;
    }
  }
}

async function bindUdp(type: 'udp4' | 'udp6', port: number, onDatagram: OnDatagram): Promise<UdpSocket> {
  const socket = createSocket({ type, ipv6Only: type === 'udp6' });
  socket.on('message', (message, from) => onDatagram(socket, message, from));
  socket.bind(port, type === 'udp4' ? '127.0.0.1' : '::1');
  await once(socket, 'listening');
  // A datagram to a program that is gone.
  socket.on('error', () => undefined);
  return socket;
}

async function listen(host: string, port: number, onConnection: (socket: Socket) => void): Promise<Server> {
  const server = createServer(onConnection);
  server.maxConnections = CONNECTIONS_MAX;
  server.listen({ host, port, ipv6Only: true });
  await once(server, 'listening');
  return server;
}

async function hasIpv6(): Promise<boolean> {
  const socket = createSocket('udp6');
  try {
    socket.bind(0, '::1');
    await once(socket, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    socket.close();
  }
}
