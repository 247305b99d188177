// The world of an agent that is benchmarked: a platform that answers after a moment, so that calls at once need connections of
// their own, and readers of the agent's events. `outside.ts READERS`; the socket to read from comes as a message.
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';

const ANSWER_MS = 25;
const READERS = Number(process.argv[2] ?? 0);
const time = '2026-01-01T00:00:00.000Z';
const sprite = {
  id: 's',
  name: 'dev-1',
  organization: 'o',
  url: 'https://dev-1.sprites.test',
  status: 'running',
  created_at: time,
  updated_at: time,
};
const policy = { allow_all: true, blocked_endpoints: ['/blocked*'] };
const connections = [
  { id: 'c', provider: 'openai', provider_account_id: 'a', access_policy: policy, created_at: time, updated_at: time },
];
const gatewayList = {
  connections: [{ id: 'c', provider: 'openai', display_name: 'c', gateway_base_url: 'https://p.test/c' }],
  available: [],
};

function toBody(target: string): unknown {
  if (target === '/v1/gateway/list') return gatewayList;
  if (target === '/v1/oauth/connections') return { connections };
  if (target === '/v1/sprites/dev-1') return sprite;
  if (target.startsWith('/v1/gateway/openai/c/')) return {};
  return undefined;
}

let open = 0;
const server = createServer((request, response) => {
  const body = toBody(request.url ?? '');
  request.resume();
  setTimeout(() => {
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? { error: 'not_found', message: 'not here' }));
  }, ANSWER_MS);
});
server.keepAliveTimeout = 60_000;
server.on('connection', (socket) => {
  open += 1;
  socket.once('close', () => {
    open -= 1;
  });
});

let resumed = 0;
function read(path: string): void {
  const socket = connect(path);
  socket.write('GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n');
  socket.on('data', (chunk: Buffer) => {
    if (chunk.includes('"type":"resumed"')) resumed += 1;
  });
  socket.on('error', () => undefined);
}

server.listen(0, '127.0.0.1', () => {
  process.send?.({ type: 'ready', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', (message: { socket?: string }) => {
  if (message.socket === undefined) {
    process.send?.({ type: 'seen', open, resumed });
    return;
  }
  for (let n = 0; n < READERS; n += 1) read(message.socket);
});
process.once('disconnect', () => process.exit(0));
