// A platform in the world around a machine, at the address and port given as arguments, with its directory: the sprite `dev-1`, whose machine is
// run elsewhere, with the connector `conn_1`. Says in one line the machine's id and token. Each line that it reads is a call, each line that it
// writes the answer: with `channel` as the last argument it keeps the channels for itself and calls the agent over the open one, else the call is one
// to the platform. A line with `move_to` has it listen at that address in place of the one before.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { CHANNEL_PROTOCOL } from '../../src/contract/channel.ts';
import { Secret } from '../../src/core/secret.ts';
import { type ChannelSession, openChannelSession } from '../../src/platform/channels/channel-session.ts';
import { createLaneCounts } from '../../src/platform/channels/lane-counts.ts';
import { openPlatform } from '../../src/platform/platform.ts';
import { eventually } from './eventually.ts';
import { silentLog } from './silent-log.ts';

const [dir = '', host = '', port = '', called = ''] = process.argv.slice(2);
const say = (value: object) => process.stdout.write(`${JSON.stringify(value)}\n`);
const provider = createHttpServer((_request, response) => response.end('a model'));
provider.listen(0, '127.0.0.1');
await once(provider, 'listening');
const platform = await openPlatform({
  dir,
  keys: [new Secret('ab'.repeat(32))],
  listen: { host: '127.0.0.1', port: 0 },
  version: '0.0.0',
  catalogue: [
    {
      provider: 'sample',
      display_name: 'sample',
      description: 'a provider of a test',
      address: { type: 'fixed', url: `http://127.0.0.1:${(provider.address() as AddressInfo).port}` },
      injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      allow_http: true,
      sample_path: '/',
    },
  ],
  log: silentLog,
});
const { admin } = platform;
await admin.createOrganization('acme');
await admin.createSprite({ organization: 'acme', name: 'dev-1', external: true });
const own = { organization: 'acme', sprite: 'dev-1' };
const { id } = await admin.readMachine(own);
const api_key = new Secret('key:1');
const access_policy = { allow_all: true };
await admin.createConnector({ organization: 'acme', provider: 'sample', id: 'conn_1', api_key, access_policy });
const token = (await admin.createToken(own)).reveal();
const ofOrganization = (await admin.createToken({ organization: 'acme' })).reveal();

let session: ChannelSession | undefined;
let opened = 0;

function takeChannel(socket: Socket): void {
  socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${CHANNEL_PROTOCOL}\r\n\r\n`);
  opened += 1;
  const next = openChannelSession({
    machine_id: id,
    sprite_id: 's1',
    incarnation: { generation: 1, incarnation: 'ab'.repeat(16) },
    socket,
    laneCounts: createLaneCounts(),
    isFull: () => false,
    onClose: (closed) => {
      if (session === closed) session = undefined;
    },
  });
  session = next;
}

const behind = Number(new URL(platform.url).port);
const sockets = new Set<Socket>();
const front = createServer((socket) => {
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
  socket.on('error', () => socket.destroy());
  socket.once('data', (first: Buffer) => {
    if (called === 'channel' && /^GET \/v1\/apps\/[^ ]+\/channel /.test(first.toString('latin1')))
      return takeChannel(socket);
    const through = connect(behind, '127.0.0.1');
    through.on('error', () => socket.destroy());
    through.write(first);
    socket.pipe(through).pipe(socket);
    return undefined;
  });
});
front.listen(Number(port), host);
await once(front, 'listening');
say({ id, token });

for await (const line of createInterface({ input: process.stdin })) {
  const { method, path, body, move_to } = JSON.parse(line);
  if (move_to !== undefined) {
    for (const socket of sockets) socket.destroy();
    front.close();
    await once(front, 'close');
    front.listen(Number(port), move_to);
    await once(front, 'listening');
    say({ status: 200 });
    continue;
  }
  if (called !== 'channel') {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${ofOrganization}` };
    const given = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${platform.url}${path}`, { method, headers, ...given });
    const text = await answer.text();
    say({ status: answer.status, json: text === '' ? null : JSON.parse(text) });
    continue;
  }
  const { dispatcher } = await eventually(() => session ?? false);
  const answer = await dispatcher.request({
    ...{ origin: 'http://agent', method, path },
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  });
  say({ status: answer.statusCode, json: await answer.body.json(), opened });
}
