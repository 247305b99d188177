// The upstream of the benchmark: bodies of fixed size, an event stream whose events carry their time, and streams that stay idle;
// and what the agent asks a platform for. Arguments: the path of a socket to serve on besides TCP, and the port,
// or none for a free one. Prints its port.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const EVENT_MS = 20;
const bodies = new Map([
  ['1k', 1024],
  ['1m', 1024 ** 2],
]);
const block = Buffer.alloc(1024 ** 2, 'x');
const LARGE_BYTES = 100 * 1024 ** 2;

function serve(request: IncomingMessage, response: ServerResponse): void {
  const target = request.url ?? '';
  const name = target.slice(target.lastIndexOf('/') + 1);
  const size = bodies.get(name);
  if (size !== undefined) {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size });
    response.end(block.subarray(0, size));
  } else if (name === '100m') void sendLarge(response);
  else if (name === 'sse' || name === 'idle') sendEvents(response, name === 'sse');
  else sendJson(response, target);
}

async function sendLarge(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': LARGE_BYTES });
  for (let sent = 0; sent < LARGE_BYTES && !response.destroyed; sent += block.length) {
    if (!response.write(block)) await writable(response);
  }
  response.end();
}

function writable(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}

/** The time is that of the kernel's monotonic clock, which every process sees alike. */
function sendEvents(response: ServerResponse, goesOn: boolean): void {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = () => response.write(`data: ${process.hrtime.bigint()}\n\n`);
  send();
  if (!goesOn) return;
  const timer = setInterval(send, EVENT_MS);
  response.once('close', () => clearInterval(timer));
}

function sendJson(response: ServerResponse, target: string): void {
  const time = '2026-01-01T00:00:00.000Z';
  const access_policy = {
    allow_all: true,
    allowed_endpoints: ['/v1/*'],
    blocked_endpoints: ['/v1/admin*', '/v1/files', '/v1/fine_tuning/*'],
  };
  const connection = { id: 'conn_1', provider: 'openai', provider_account_id: 'a', access_policy };
  const sprite = { id: 's', name: 'bench', organization: 'o', url: 'http://bench.test', status: 'running' };
  const stamps = { created_at: time, updated_at: time };
  const body = target.startsWith('/v1/oauth')
    ? { connections: [connection] }
    : target.startsWith('/v1/gateway/list')
      ? { connections: [], available: [] }
      : { ...sprite, ...stamps };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const options = { keepAliveTimeout: 60_000 };
const socket = createServer(options, serve);
const tcp = createServer(options, serve);
socket.listen(process.argv[2], () => {
  tcp.listen(Number(process.argv[3] ?? 0), '127.0.0.1', 4_096, () => console.log((tcp.address() as AddressInfo).port));
});
