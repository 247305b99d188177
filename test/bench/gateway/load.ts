// The load: requests over a Unix socket or TCP on kept-alive connections, each with the least work that tells where an answer ends, so
// that what is measured is what serves.
import { connect, type Socket } from 'node:net';

export interface Load {
  readonly requests: number;
  readonly bytes: number;
  readonly took_ms: number;
  /** Sorted. */
  readonly latencies_us: readonly number[];
}

export interface LoadOptions {
  /** The path of a Unix socket, or a port of this machine. */
  readonly socketPath: string | number;
  readonly target: string;
  /** `bench` when absent. */
  readonly host?: string;
  /** More lines of the request, such as `Authorization: Bearer …`. */
  readonly headers?: readonly string[];
  /** More of them that only one request in so many has, in turns. */
  readonly turns?: readonly (readonly string[])[];
  readonly connections: number;
  /** Ends after so long, or after so many requests. */
  readonly duration_ms: number;
  readonly requests?: number;
}

export async function runLoad(options: LoadOptions): Promise<Load> {
  const { target, headers = [], turns = [[]], host } = options;
  const requests = turns.map((more) => toRequest(target, [...headers, ...more], host));
  const latencies_us: number[] = [];
  const begun_ms = performance.now();
  const end_ms = begun_ms + options.duration_ms;
  let started = 0;
  let received_bytes = 0;
  const mayStart = () => performance.now() < end_ms && started < (options.requests ?? Number.POSITIVE_INFINITY);

  async function drive(): Promise<void> {
    const socket = await open(options.socketPath);
    await new Promise<void>((resolve, reject) => {
      let sent_us = 0;
      const reader = createReader((size) => {
        latencies_us.push(now_us() - sent_us);
        received_bytes += size;
        next();
      }, reject);
      function next(): void {
        if (!mayStart()) {
          resolve();
          return;
        }
        started += 1;
        sent_us = now_us();
        socket.write(requests[started % requests.length] ?? '');
      }
      socket.on('data', reader);
      socket.once('close', () => reject(new Error('the connection was closed')));
      next();
    });
    socket.destroy();
  }

  await Promise.all(Array.from({ length: options.connections }, drive));
  latencies_us.sort((a, b) => a - b);
  return { requests: latencies_us.length, bytes: received_bytes, took_ms: performance.now() - begun_ms, latencies_us };
}

/** How late each event was, sorted. The first is left out: it carries the cost of the connection. */
export async function readEventDelays(socketPath: string, target: string, count: number): Promise<number[]> {
  const socket = await open(socketPath);
  const delays_us: number[] = [];
  await new Promise<void>((resolve, reject) => {
    socket.on('data', (chunk: Buffer) => {
      const now = process.hrtime.bigint();
      for (const match of chunk.toString('latin1').matchAll(/data: (\d+)/g)) {
        delays_us.push(Number(now - BigInt(match[1] ?? 0)) / 1_000);
      }
      if (delays_us.length > count) resolve();
    });
    socket.once('close', () => reject(new Error('the stream ended')));
    socket.write(toRequest(target));
  });
  socket.destroy();
  return delays_us.slice(1).sort((a, b) => a - b);
}

/** Opens streams and resolves when each has had its first event. */
export async function openStreams(socketPath: string, target: string, count: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  const batch = 50;
  for (let begun = 0; begun < count; begun += batch) {
    const opened = await Promise.all(
      Array.from({ length: Math.min(batch, count - begun) }, async () => {
        const socket = await open(socketPath);
        await new Promise<void>((resolve, reject) => {
          let text = '';
          socket.on('data', (chunk: Buffer) => {
            text += chunk.toString('latin1');
            if (text.includes('data: ')) resolve();
          });
          socket.once('close', () => reject(new Error(`a stream ended: ${text}`)));
          socket.write(toRequest(target));
        });
        return socket;
      }),
    );
    sockets.push(...opened);
  }
  return sockets;
}

function toRequest(target: string, more: readonly string[] = [], host = 'bench'): Buffer {
  const lines = [`GET ${target} HTTP/1.1`, `Host: ${host}`, 'Accept: */*', 'User-Agent: bench', ...more];
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`);
}

function now_us(): number {
  return performance.now() * 1_000;
}

function open(place: string | number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = typeof place === 'number' ? connect({ port: place, noDelay: true }) : connect(place);
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}

/** Counts the bytes of answers that have a Content-Length; `onAnswer` gets the size of each body. */
function createReader(onAnswer: (size: number) => void, onError: (error: Error) => void): (chunk: Buffer) => void {
  let head = '';
  let left = -1;
  let size = 0;
  return (chunk) => {
    let body = chunk.length;
    if (left < 0) {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      const length = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end));
      if (!head.startsWith('HTTP/1.1 200 ') || length?.[1] === undefined) {
        onError(new Error(`not an answer to be measured: ${head.slice(0, 300)}`));
        return;
      }
      size = Number(length[1]);
      left = size;
      body = head.length - end - 4;
      head = '';
    }
    left -= body;
    if (left > 0) return;
    left = -1;
    onAnswer(size);
  };
}
