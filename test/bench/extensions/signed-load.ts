// The load: POST requests made beforehand, each with a signature of its own, on kept-alive connections, with the least work that tells where
// an answer ends.
import { connect, type Socket } from 'node:net';

export interface SignedRequest {
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function toBytes({ target, headers, body }: SignedRequest): Buffer {
  const length = Buffer.byteLength(body);
  const given = { host: 'bench', 'content-type': 'application/json', ...headers, 'content-length': String(length) };
  const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}`);
  return Buffer.from(`POST ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

/** Sends each request once. Returns how many were answered a second. Throws for an answer that is not 2xx, or has a body. */
export async function sendAll(port: number, requests: readonly Buffer[], connections: number): Promise<number> {
  const left = requests.values();
  const begun_ms = performance.now();
  await Promise.all(Array.from({ length: connections }, () => drive(port, left)));
  return (requests.length * 1_000) / (performance.now() - begun_ms);
}

async function drive(port: number, left: Iterator<Buffer>): Promise<void> {
  const socket = await open(port);
  await new Promise<void>((resolve, reject) => {
    let head = '';
    const next = () => {
      const { value, done } = left.next();
      if (done === true) resolve();
      else socket.write(value);
    };
    socket.on('data', (chunk: Buffer) => {
      head += chunk.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      if (!head.startsWith('HTTP/1.1 2')) return reject(new Error(`not an answer to be measured: ${head}`));
      head = '';
      next();
    });
    socket.once('close', () => reject(new Error(`the connection was closed: ${head}`)));
    next();
  });
  socket.destroy();
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
}
