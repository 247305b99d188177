// An upstream that is driven by hand: it keeps each connection's bytes and answers nothing by itself.
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface RawUpstreamConnection {
  readonly socket: Socket;
  /** Everything received, one byte in each character. */
  readonly text: string;
  until(pattern: RegExp): Promise<string>;
  readonly closed: Promise<void>;
}

export interface RawUpstream {
  readonly port: number;
  readonly origin: string;
  /** The connections in the order in which they were made. */
  readonly connections: readonly RawUpstreamConnection[];
  /** Resolves with connection number `index`, now or when it is made. */
  connection(index: number): Promise<RawUpstreamConnection>;
}

export async function openRawUpstream(): Promise<RawUpstream> {
  const connections: RawUpstreamConnection[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((socket) => {
    connections.push(observe(socket));
    for (const wake of waiting) wake();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const { socket } of connections) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    connections,
    connection: (index) =>
      new Promise((resolve) => {
        const wake = () => {
          const found = connections[index];
          if (found === undefined) return;
          waiting.delete(wake);
          resolve(found);
        };
        waiting.add(wake);
        wake();
      }),
  };
}

function observe(socket: Socket): RawUpstreamConnection {
  let text = '';
  const watchers = new Set<() => void>();
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    for (const watcher of watchers) watcher();
  });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  return {
    socket,
    get text() {
      return text;
    },
    closed,
    until: (pattern) =>
      new Promise((resolve) => {
        const check = () => {
          if (!pattern.test(text)) return;
          watchers.delete(check);
          resolve(text);
        };
        watchers.add(check);
        check();
      }),
  };
}
