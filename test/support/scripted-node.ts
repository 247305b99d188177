// A database node on a real port that does what a test says: answers, sends bytes cut anywhere, ends, breaks off, goes silent.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { atEnd } from './at-end.ts';
import { openFreePort } from './free-port.ts';

export interface NodeConnection {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Starts the stream: 200 in the real node's way, with a node id, and `init`. */
  open(init?: object, headers?: Readonly<Record<string, string>>): void;
  /** One object and a newline each. */
  send(...events: readonly object[]): void;
  /** Bytes as they are, in a write of their own. */
  write(bytes: string | Uint8Array): Promise<void>;
  /** A normal end of the stream. */
  end(): void;
  /** Breaks the connection off. */
  cut(): void;
  /** Resolves when the peer or the test has closed it. */
  readonly closed: Promise<void>;
}

export interface ScriptedNode {
  readonly url: string;
  /** When each request came, in milliseconds of performance.now(). */
  readonly arrivals_ms: readonly number[];
  /** How many requests were open at once, at most. */
  readonly mostAtOnce: number;
  /** Resolves with the next request that no call has returned yet. */
  next(limit_ms?: number): Promise<NodeConnection>;
  /** Has requests handled by this from now on, and not by `next`. */
  onRequest(handle: ((connection: NodeConnection) => void) | undefined): void;
  /** Refuses connections, and breaks off those that are open. */
  stop(): Promise<void>;
  /** Serves on the same port again. */
  restart(): Promise<void>;
}

export const primaryInit = { type: 'init', data: { isPrimary: true } };

export async function startNode(): Promise<ScriptedNode> {
  const waiting: NodeConnection[] = [];
  const arrivals_ms: number[] = [];
  const sockets = new Set<Socket>();
  let takers: ((connection: NodeConnection) => void)[] = [];
  let handle: ((connection: NodeConnection) => void) | undefined;
  let atOnce = 0;
  let mostAtOnce = 0;

  const server = createServer((request, response) => {
    arrivals_ms.push(performance.now());
    atOnce += 1;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    const connection = toConnection(request, response);
    void connection.closed.then(() => {
      atOnce -= 1;
    });
    const taker = handle ?? takers.shift();
    if (taker === undefined) waiting.push(connection);
    else taker(connection);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });

  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  async function stop(): Promise<void> {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  }
  const port = await openFreePort();
  await listen(port);
  atEnd(stop);
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals_ms,
    get mostAtOnce() {
      return mostAtOnce;
    },
    next(limit_ms = 60_000) {
      const first = waiting.shift();
      if (first !== undefined) return Promise.resolve(first);
      return new Promise((resolve, reject) => {
        const taker = (connection: NodeConnection) => {
          clearTimeout(timer);
          resolve(connection);
        };
        const timer = setTimeout(() => {
          takers = takers.filter((other) => other !== taker);
          reject(new Error(`no request within ${limit_ms} ms`));
        }, limit_ms);
        takers.push(taker);
      });
    },
    onRequest(next) {
      handle = next;
    },
    stop,
    restart: () => listen(port),
  };
}

function toConnection(request: IncomingMessage, response: ServerResponse): NodeConnection {
  response.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => response.once('close', resolve));
  return {
    request,
    response,
    closed,
    open(init = primaryInit, headers = {}) {
      response.writeHead(200, { 'content-type': 'application/json', 'litefs-id': '0123456789ABCDEF', ...headers });
      response.write(`${JSON.stringify(init)}\n`);
    },
    send(...events) {
      response.write(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
    },
    write: (bytes) => new Promise((resolve) => response.write(bytes, () => setImmediate(resolve))),
    end: () => void response.end(),
    cut: () => void response.destroy(),
  };
}

/** A tx event; `commit` 0 is a drop. */
export function tx(db: string, id: number | bigint, fields: Readonly<Record<string, unknown>> = {}): object {
  const txID = id.toString(16).padStart(16, '0');
  const data = {
    txID,
    postApplyChecksum: `c${txID.slice(1)}`,
    pageSize: 4096,
    commit: 3,
    timestamp: '2026-01-01T00:00:00Z',
  };
  return { type: 'tx', db, data: { ...data, ...fields } };
}
