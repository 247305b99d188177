// A channel between its two ends: calls, uploads and sockets over streams that the agent serves on a connection that it has dialled.
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { toServerTarget } from '../../src/agent/channel/channel-target.ts';
import { openChannelPair } from '../support/channel-pair.ts';
import { eventually } from '../support/eventually.ts';

const MEGABYTE = 1024 * 1024;

function createAgent(): Server {
  const server = createServer((request, response) => {
    if (request.url === '/large') {
      const piece = Buffer.alloc(64 * 1024, 'x');
      let left = (100 * MEGABYTE) / piece.length;
      const more = () => {
        while (left > 0) {
          left -= 1;
          if (!response.write(piece)) {
            response.once('drain', more);
            return;
          }
        }
        response.end();
      };
      more();
      return;
    }
    if (request.url === '/never') return;
    if (request.url === '/cut') {
      response.write('a part');
      return;
    }
    if (request.url === '/bytes') {
      // A head that is text, with a body of bytes in the same turn.
      response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': '3' });
      response.write(Buffer.from('abc'));
      response.end();
      return;
    }
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
    });
    request.on('end', () => response.end(`${request.method} ${request.url} ${length}`));
  });
  onTestFinished(() => void server.close());
  return server;
}

const openPair = (options: { pingInterval_ms?: number; heldCap_bytes?: number } = {}) =>
  openChannelPair({ targets: [toServerTarget('agent', createAgent())], ...options });

async function call(pair: Awaited<ReturnType<typeof openPair>>, path: string, body?: Buffer): Promise<string> {
  const method = body === undefined ? 'GET' : 'PUT';
  const answer = await pair.platform.dispatcher.request({ path, method, ...(body === undefined ? {} : { body }) });
  return await answer.body.text();
}

test('calls and uploads reach the server of the agent', async () => {
  const pair = await openPair();
  expect(await call(pair, '/a?b=c')).toBe('GET /a?b=c 0');
  expect(await call(pair, '/up', Buffer.alloc(3 * MEGABYTE))).toBe(`PUT /up ${3 * MEGABYTE}`);
});

test('nothing is opened for who is gone already', async () => {
  const pair = await openChannelPair({ targets: [() => true] });
  await expect(pair.platform.connect('agent', AbortSignal.abort())).rejects.toMatchObject({ code: 'upstream_timeout' });
  await eventually(() => pair.platform.streams === 0);
});

test('the head of an answer arrives whole, also when bytes follow it in the same turn', async () => {
  const pair = await openPair();
  for (let round = 0; round < 50; round += 1) {
    const stream = await pair.platform.connect('agent');
    stream.write('GET /bytes HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const text = (await stream.toArray()).map(String).join('');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nabc$/);
  }
});

test('two hundred calls are open at once, and none is left', async () => {
  const pair = await openPair();
  const answers = await Promise.all(Array.from({ length: 200 }, (_, index) => call(pair, `/${index}`)));
  expect(new Set(answers).size).toBe(200);
  expect(pair.platform.streams).toBeLessThanOrEqual(200);
});

test('three thousand streams that are cut do not end the channel', async () => {
  const pair = await openPair();
  for (let round = 0; round < 30; round += 1) {
    const streams = await Promise.all(Array.from({ length: 100 }, () => pair.platform.connect('agent')));
    for (const stream of streams) stream.on('error', () => undefined).destroy();
    await eventually(() => pair.platform.streams === 0 || undefined);
  }
  expect(await call(pair, '/after')).toBe('GET /after 0');
});

test('three hundred uploads that are cut leave the channel open to later calls', async () => {
  const pair = await openPair();
  const head = `POST /never HTTP/1.1\r\nHost: a\r\nContent-Length: ${MEGABYTE}\r\n\r\n`;
  for (let round = 0; round < 30; round += 1) {
    const streams = await Promise.all(Array.from({ length: 10 }, () => pair.platform.connect('agent')));
    for (const stream of streams) {
      stream.on('error', () => undefined).write(head);
      // More than may be on its way to a server that reads nothing of it.
      stream.write(Buffer.alloc(MEGABYTE - 1));
    }
    // Half of them are cut while a part is under way, and half before.
    if (round % 2 === 0) await sleep(5);
    for (const stream of streams) stream.destroy();
    await eventually(() => pair.platform.streams === 0 || undefined);
  }
  expect(await call(pair, '/after')).toBe('GET /after 0');
});

test('a large answer leaves small calls beside it alive', async () => {
  const pair = await openPair();
  const large = await pair.platform.dispatcher.request({ path: '/large', method: 'GET' });
  let received_bytes = 0;
  let small = 0;
  const reading = (async () => {
    for await (const chunk of large.body) received_bytes += chunk.length;
  })();
  let isOver = false;
  reading.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await call(pair, '/small');
    small += 1;
  }
  await reading;
  expect(received_bytes).toBe(100 * MEGABYTE);
  expect(small).toBeGreaterThan(5);
});

test('another authority, and another method, are refused', async () => {
  const pair = await openPair();
  await expect(pair.platform.connect('port:1')).rejects.toMatchObject({ code: 'not_found' });
  expect(await call(pair, '/still')).toBe('GET /still 0');
});

test('a connection that breaks ends every call with an error, and says so at both ends', async () => {
  const pair = await openPair();
  const cut = [expect(call(pair, '/never')).rejects.toThrow()];
  const part = await pair.platform.dispatcher.request({ path: '/cut', method: 'GET' });
  cut.push(expect(part.body.text()).rejects.toThrow());
  const raw = await pair.platform.connect('agent');
  const broken = once(raw, 'error');
  await eventually(() => pair.platform.streams >= 3 || undefined);
  pair.socket.destroy();
  await Promise.all(cut);
  expect((await broken)[0]).toMatchObject({ code: 'ECONNRESET' });
  await eventually(() => (pair.closed.agent !== undefined && pair.closed.platform !== undefined) || undefined);
  await expect(pair.platform.connect('agent')).rejects.toMatchObject({ code: 'upstream_failed' });
});

test('a channel that is cut says nothing more to the platform, and its end is told when it is asked for', async () => {
  const pair = await openPair();
  expect(await call(pair, '/before')).toBe('GET /before 0');
  const said: number[] = [];
  pair.socket.on('data', (bytes: Buffer) => said.push(bytes.length));
  const closed = once(pair.socket, 'close');
  const end = pair.agent.cut();
  await closed;
  expect([said, pair.closed.agent]).toEqual([[], undefined]);
  end();
  await eventually(() => pair.closed.agent !== undefined || undefined);
});

/** A hundred large answers that nobody reads. */
async function openUnread(pair: Awaited<ReturnType<typeof openPair>>) {
  const streams = await Promise.all(Array.from({ length: 100 }, () => pair.platform.connect('agent')));
  for (const stream of streams) stream.on('error', () => undefined).write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
  return streams;
}

/** The first answer arrives whole once the others are given up. */
async function readOne(pair: Awaited<ReturnType<typeof openPair>>, [first, ...others]: readonly Duplex[]) {
  for (const stream of others) stream.destroy();
  let received_bytes = 0;
  first?.on('data', (chunk: Buffer) => {
    received_bytes += chunk.length;
  });
  await eventually(() => received_bytes > 100 * MEGABYTE);
  expect(await call(pair, '/after')).toBe('GET /after 0');
  expect(pair.closed).toEqual({});
}

test('a channel that is not read for a while, because too much waits, is not taken for one whose other end is gone', async () => {
  // An end that reads nothing pings at every second interval: one such interval is what a busy machine may be late here.
  const pingInterval_ms = 500;
  const pair = await openPair({ pingInterval_ms, heldCap_bytes: 4 * MEGABYTE });
  const streams = await openUnread(pair);
  await eventually(() => pair.platform.held_bytes > 4 * MEGABYTE);
  await sleep(5 * pingInterval_ms);
  expect(pair.platform.held_bytes).toBeGreaterThan(4 * MEGABYTE);
  expect(pair.closed).toEqual({});
  await readOne(pair, streams);
});

test('a peer that answers no ping is gone', async () => {
  const pair = await openPair({ pingInterval_ms: 200 });
  expect(await call(pair, '/a')).toBe('GET /a 0');
  await sleep(1_200);
  expect(pair.closed).toEqual({});
  const cut = expect(call(pair, '/never')).rejects.toThrow();
  pair.silence();
  expect(await eventually(() => pair.closed.agent)).toBe('the platform answers no ping');
  expect(await eventually(() => pair.closed.platform)).toBe('the agent answers no ping');
  await cut;
});
