// A port of a sprite, reached from outside by the client of the Sprites API: a real listener in the machine, real connections.
import { getEventListeners, once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { PassThrough } from 'node:stream';
import { SpritesClient } from '@fly/sprites';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { RemoraError } from '../../src/core/remora-error.ts';
import { GOING_AWAY } from '../../src/core/websocket/close-frame.ts';
import { openUpgrade } from '../../src/http/upgrade.ts';
import { proxyPort } from '../../src/platform/sprite-api/proxy-port.ts';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { eventually } from '../support/eventually.ts';
import { openFreePort } from '../support/free-port.ts';

const echo = `
const server = require('node:net').createServer((socket) => socket.pipe(socket));
server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));`;

async function openSprite() {
  const machine = await openAgentMachine({ trustMachines: true });
  const sprite = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url }).sprite('dev-1');
  return { machine, sprite };
}

async function startService(
  sprite: Awaited<ReturnType<typeof openSprite>>['sprite'],
  program: string,
): Promise<number> {
  const stream = await sprite.createService('listener', { cmd: process.execPath, args: ['-e', program] }, '40s');
  for await (const { data } of stream) {
    const port = /port (\d+)/.exec(data ?? '')?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error('the service says no port');
}

async function openProxy(sprite: Awaited<ReturnType<typeof openSprite>>['sprite'], remote: number, host?: string) {
  const local = await openFreePort('localhost');
  const session = await sprite.proxyPort(local, remote, host);
  session.on('error', () => undefined);
  onTestFinished(() => session.close());
  return local;
}

/** What comes back for these bytes, or undefined when the connection is closed without any. */
async function exchange(port: number, bytes: Buffer): Promise<Buffer | undefined> {
  // The session listens on the first address of that name; another one would be tried where this one is late.
  const socket = connect({ host: 'localhost', port, autoSelectFamily: false });
  const parts: Buffer[] = [];
  let received_bytes = 0;
  const closed = once(socket, 'close');
  const whole = new Promise<void>((resolve) => {
    socket.on('data', (part: Buffer) => {
      parts.push(part);
      received_bytes += part.length;
      if (received_bytes >= bytes.length) resolve();
    });
  });
  socket.on('error', () => undefined);
  socket.write(bytes);
  await Promise.race([whole, closed]);
  socket.destroy();
  return parts.length === 0 ? undefined : Buffer.concat(parts);
}

test('bytes go to a listener in the machine and back', async () => {
  const { sprite } = await openSprite();
  const port = await startService(sprite, echo);
  const local = await openProxy(sprite, port);
  const small = Buffer.from('hello');
  const answer = await eventually(async () => await exchange(local, small));
  expect(answer).toEqual(small);
  const large = Buffer.alloc(5 * 1024 * 1024, 'x');
  expect((await exchange(local, large))?.equals(large)).toBe(true);
  const many = await Promise.all(
    Array.from({ length: 20 }, (_, index) => exchange(local, Buffer.from(`call ${index}`))),
  );
  expect(many.map(String)).toEqual(Array.from({ length: 20 }, (_, index) => `call ${index}`));
});

test('a listener that belongs to no process of the machine, another host, and a free port are refused', async () => {
  const { sprite, machine } = await openSprite();
  const foreign = createServer((socket) => socket.end('secret'));
  await new Promise<void>((resolve) => foreign.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void foreign.close());
  const address = foreign.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  // The agent has seen the listener: what refuses is whose it is.
  await eventually(
    async () => (await ask(machine.socket, { target: '/v1/ports' })).text.includes(`:${port}`) || undefined,
  );
  expect(await exchange(await openProxy(sprite, port), Buffer.from('a'))).toBeUndefined();
  expect(await exchange(await openProxy(sprite, port, '169.254.169.254'), Buffer.from('a'))).toBeUndefined();
  foreign.close();
  expect(await exchange(await openProxy(sprite, 1), Buffer.from('a'))).toBeUndefined();
});

/** A connection to the port, with the text frame that answers its first one and the bytes after it. */
async function open({ platform }: Awaited<ReturnType<typeof openSprite>>['machine'], port: number) {
  const headers = { authorization: `Bearer ${platform.token.reveal()}` };
  const url = `${platform.url.replace('http', 'ws')}/v1/sprites/dev-1/proxy`;
  const socket = new WebSocket(url, { headers });
  onTestFinished(() => socket.terminate());
  const frames: Buffer[] = [];
  socket.on('message', (frame: Buffer) => frames.push(frame));
  await once(socket, 'open');
  socket.send(JSON.stringify({ port }));
  await once(socket, 'message');
  return { socket, answer: JSON.parse(String(frames[0])), received: () => Buffer.concat(frames.slice(1)) };
}

const dial = async (machine: Awaited<ReturnType<typeof openSprite>>['machine'], port: number) =>
  (await open(machine, port)).answer;

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

test('what a caller sends before the connection is there arrives in its order, also from one that has hung up', async () => {
  const { sprite, machine } = await openSprite();
  const port = await openFreePort();
  // It says what it has got when it is asked for it by another connection.
  const collect = `
    const parts = [];
    setTimeout(() => require('node:net').createServer((socket) => {
      socket.once('data', (first) => {
        if (String(first) === 'what') return socket.end(Buffer.concat(parts));
        parts.push(first);
        socket.on('data', (part) => parts.push(part));
      });
    }).listen(${port}, '127.0.0.1'), 1000);`;
  await drain(
    await sprite.createService('web', { cmd: process.execPath, args: ['-e', collect], httpPort: port }, '0s'),
  );
  const { url, token } = machine.platform;
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/sprites/dev-1/proxy`, {
    headers: { authorization: `Bearer ${token.reveal()}` },
  });
  await once(socket, 'open');
  const pieces = Array.from({ length: 5_000 }, (_, index) => `${index}.`);
  // Everything goes in one write, before the service listens.
  socket.send(JSON.stringify({ port }));
  for (const piece of pieces) socket.send(piece);
  socket.close();
  await once(socket, 'close');
  const expected = pieces.join('');
  await eventually(async () => {
    const { socket: asking, received } = await open(machine, port);
    asking.send('what');
    await once(asking, 'close');
    return String(received()) === expected;
  });
});

const source = `
const server = require('node:net').createServer((socket) => socket.end(Buffer.alloc(5 * 1024 * 1024, 'x')));
server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));`;

test('what a listener sends before it ends arrives whole', async () => {
  const { sprite, machine } = await openSprite();
  const port = await startService(sprite, source);
  const { socket, answer, received } = await eventually(async () => {
    const call = await open(machine, port);
    return call.answer.status === 'connected' && call;
  });
  expect(answer.target).toBe(`localhost:${port}`);
  // A close frame without a code: it did not break off.
  expect((await once(socket, 'close'))[0]).toBe(1005);
  expect(received().equals(Buffer.alloc(5 * 1024 * 1024, 'x'))).toBe(true);
});

test('a connection waits for the service of its port, starts one that has crashed, and leaves a stopped one alone', async () => {
  const { sprite, machine } = await openSprite();
  const port = await openFreePort();
  // It needs a while, and ends the first time that somebody starts it.
  const slow = `
    const { existsSync, writeFileSync } = require('node:fs');
    setTimeout(() => {
      if (!existsSync('ready')) process.exit(3);
      require('node:net').createServer((socket) => socket.pipe(socket)).listen(${port}, '127.0.0.1');
    }, 1500);`;
  await drain(
    await sprite.createService(
      'web',
      { cmd: process.execPath, args: ['-e', slow], httpPort: port, dir: machine.dir },
      '0s',
    ),
  );
  const refused = await dial(machine, port);
  expect(refused).toMatchObject({ error: 'upstream_failed', message: 'the service web does not listen; it is failed' });

  await sprite.filesystem(machine.dir).writeFile('ready', '');
  expect(
    await eventually(async () => {
      const answer = await dial(machine, port);
      return answer.status === 'connected' ? answer : undefined;
    }),
  ).toEqual({ status: 'connected', target: `localhost:${port}` });

  await drain(await sprite.stopService('web'));
  expect(await dial(machine, port)).toMatchObject({
    error: 'service_stopped',
    message: expect.stringContaining('web'),
  });
  expect((await sprite.getService('web')).state?.status).toBe('stopped');
  await drain(await sprite.startService('web', '0s'));
  // The first call comes while it is about to listen.
  expect(await dial(machine, port)).toMatchObject({ status: 'connected' });
});

test('connections that are over leave nothing at the signal for the end of the platform, which closes those that are not', async () => {
  const stopping = new AbortController();
  const listeners = () => getEventListeners(stopping.signal, 'abort').length;
  const server = createHttpServer().listen(0, '127.0.0.1');
  const over: Promise<void>[] = [];
  server.on('upgrade', (request: IncomingMessage, _socket, head: Buffer) => {
    const { upgrade } = openUpgrade(request, head, stopping.signal);
    over.push(proxyPort(request, upgrade, async () => new PassThrough()));
  });
  onTestFinished(() => void server.close().closeAllConnections());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const begin = async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${port}`);
    onTestFinished(() => socket.terminate());
    socket.once('open', () => socket.send('{"port":80}'));
    const closed = once(socket, 'close').then(([code]) => code);
    await Promise.race([once(socket, 'message'), closed]);
    return { socket, closed };
  };

  const calls = await Promise.all(Array.from({ length: 5 }, begin));
  expect(listeners()).toBe(5);
  for (const { socket } of calls.slice(1)) socket.close();
  await eventually(() => listeners() === 1);
  stopping.abort(new RemoraError('shutting_down', 'the platform is stopping'));
  expect(await calls[0]?.closed).toBe(GOING_AWAY);
  // One that comes just then is closed as well.
  expect(await (await begin()).closed).toBe(GOING_AWAY);
  await Promise.all(over);
  expect(listeners()).toBe(0);
});
