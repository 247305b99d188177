// A port of a sprite, reached through the platform process to which its machine is not connected.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { openConnectedPair } from '../support/connected-pair.ts';
import { eventually } from '../support/eventually.ts';
import type { PairedPlatform } from '../support/platform-pair.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';

const MB = 1024 * 1024;

/** A listener of this process, which belongs to the machine as every process does where a kernel has one machine. */
async function listen(onCaller: (socket: Socket) => void): Promise<number> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => undefined);
    onCaller(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const toUrl = (platform: PairedPlatform) => `${platform.url.replace('http', 'ws')}/v1/sprites/dev-1/proxy`;
const toHeaders = (platform: PairedPlatform) => ({ authorization: `Bearer ${platform.token.reveal()}` });

/** A connection to the port, or what the platform said of it. */
async function tryDial(platform: PairedPlatform, port: number) {
  const socket = new WebSocket(toUrl(platform), { headers: toHeaders(platform) });
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  const parts: Buffer[] = [];
  const [text] = await new Promise<[Buffer]>((resolve) => {
    socket.once('message', (data: Buffer) => {
      socket.on('message', (part: Buffer) => parts.push(part));
      resolve([data]);
    });
    socket.send(JSON.stringify({ host: 'localhost', port }));
  });
  const closed = once(socket, 'close').then(([code]) => code as number);
  return { socket, answer: JSON.parse(String(text)), closed, received: () => Buffer.concat(parts) };
}

/** The agent sees a new listener after a moment. */
async function dial(platform: PairedPlatform, port: number) {
  return await eventually(async () => {
    const call = await tryDial(platform, port);
    return call.answer.status === 'connected' ? call : undefined;
  });
}

describe.skipIf(isWithoutPostgres())(
  'a port of a machine that is connected to the other platform',
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await openPostgresServer();
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
    });

    test('bytes go both ways, and what was sent before an end arrives', async () => {
      const { other, ofHosts } = await openConnectedPair(await server.createDatabase());
      const heard: Buffer[] = [];
      const ended = Promise.withResolvers<void>();
      const sink = await listen((socket) => {
        socket.on('data', (part: Buffer) => heard.push(part));
        socket.once('end', () => ended.resolve());
      });
      const up = await dial(other, sink);
      expect(up.answer).toEqual({ status: 'connected', target: `localhost:${sink}` });
      const large = Buffer.alloc(5 * MB, 'up');
      up.socket.send(large);
      up.socket.close();
      await ended.promise;
      expect(Buffer.concat(heard).equals(large)).toBe(true);

      const source = await listen((socket) => socket.end(Buffer.alloc(5 * MB, 'down')));
      const down = await dial(other, source);
      // A close frame without a code: it did not break off.
      expect(await down.closed).toBe(1005);
      expect(down.received().equals(Buffer.alloc(5 * MB, 'down'))).toBe(true);

      const echo = await listen((socket) => socket.pipe(socket));
      const both = await dial(other, echo);
      both.socket.send(Buffer.from('there and back'));
      await eventually(async () => String(both.received()) === 'there and back');

      const none = await tryDial(other, 1);
      expect(none.answer).toMatchObject({ status: 'error', error: 'not_found' });
      const sent = ofHosts.sent();
      expect(sent).toContain('GET /v1/sprites/dev-1/proxy HTTP/1.1');
      expect(sent).not.toMatch(/remora_(org|sprite|machine)_|^authorization:/im);
    });

    test('a reader that stands still holds back the sender, on either side', async () => {
      const { other } = await openConnectedPair(await server.createDatabase());
      let left: Socket | undefined;
      const chunk = Buffer.alloc(MB);
      const source = await listen((socket) => {
        left = socket;
        const more = () => {
          while (socket.bytesWritten < 256 * MB && socket.write(chunk));
        };
        socket.on('drain', more);
        more();
      });
      const down = await dial(other, source);
      down.socket.pause();
      const before = await standsStill(() => left?.bytesWritten ?? 0);
      expect(before).toBeLessThan(64 * MB);
      down.socket.resume();
      await eventually(async () => (left?.bytesWritten ?? 0) > before + 16 * MB);
      down.socket.terminate();

      let taken = 0;
      let right: Socket | undefined;
      const sink = await listen((socket) => {
        right = socket;
        socket.pause().on('data', (part: Buffer) => {
          taken += part.length;
        });
      });
      const up = await dial(other, sink);
      for (let sent = 0; sent < 96; sent += 1) up.socket.send(chunk);
      expect(await standsStill(() => 96 * MB - up.socket.bufferedAmount)).toBeLessThan(64 * MB);
      right?.resume();
      await eventually(async () => taken === 96 * MB, 60_000);
    });

    test('is refused where no address is known, with the name of the platform that has it', async () => {
      const { one, other } = await openConnectedPair(await server.createDatabase(), false);
      await eventually(async () => (await other.call({ path: '/v1/sprites/dev-1/services' })).status === 421);
      const socket = new WebSocket(toUrl(other), { headers: toHeaders(other) });
      socket.on('error', () => undefined);
      const [, answer] = await once(socket, 'unexpected-response');
      let text = '';
      for await (const part of answer) text += part;
      const { error, details } = JSON.parse(text);
      expect([answer.statusCode, error]).toEqual([421, 'other_host']);
      expect(Object.keys(details)).toEqual(['host']);
      expect((await one.call({ path: '/v1/sprites/dev-1/services' })).status).toBe(200);
    });
  },
  120_000,
);

/** The value, once it has not changed for a second. */
async function standsStill(read: () => number): Promise<number> {
  let last = -1;
  return await eventually(async () => {
    const now = read();
    if (now > 0 && now === last) return now;
    last = now;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return undefined;
  });
}
