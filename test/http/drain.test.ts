// Stopping: streams end cleanly, answers that are due are sent, new calls are refused, a deadline cuts the rest.
import { Agent } from 'node:http';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import type { EventSink } from '../../src/http/event-sink.ts';
import { ask } from '../support/ask.ts';
import { openPaused, readAll } from '../support/paused-reader.ts';
import { openRaw } from '../support/raw-http.ts';
import { readLines } from '../support/read-lines.ts';
import { serveEdge } from '../support/serve-edge.ts';
import { soon } from '../support/soon.ts';

const shared = { summary: '', source: '', tag: 'test', errors: [], method: 'GET' } as const;
const json = { kind: 'json', status: 200, schema: z.unknown() } as const;
const operations = {
  stream: defineOperation({
    ...shared,
    path: '/v1/stream',
    answer: { kind: 'stream', status: 200, schema: z.unknown() },
  }),
  slow: defineOperation({ ...shared, path: '/v1/slow', answer: json }),
  quick: defineOperation({ ...shared, path: '/v1/quick', answer: json }),
  large: defineOperation({ ...shared, path: '/v1/large', answer: json }),
  raw: defineOperation({ ...shared, path: '/v1/raw', answer: { kind: 'raw', upgrades: true } }),
  put: defineOperation({ ...shared, method: 'PUT', path: '/v1/put', body: z.unknown(), answer: json }),
  late: defineOperation({
    ...shared,
    method: 'POST',
    path: '/v1/late',
    body: z.unknown(),
    answer: { kind: 'stream', status: 200, schema: z.unknown() },
  }),
};
const LONG_MS = 60_000;
const LARGE_BYTES = 3_000_000;
const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function serve() {
  const slow = Promise.withResolvers<void>();
  const asked: string[] = [];
  const sinks: EventSink<unknown>[] = [];
  const served = await serveEdge(operations, {
    stream: (_call, sink) => {
      sink.send({ n: 1 });
      sinks.push(sink);
    },
    slow: async () => {
      asked.push('slow');
      await slow.promise;
      return { slow: true };
    },
    quick: () => ({ quick: true }),
    raw: ({ upgrade }) => void upgrade?.accept([]),
    large: () => 'x'.repeat(LARGE_BYTES),
    put: ({ body }) => body,
    late: (_call, sink) => sink.open(),
  });
  return { ...served, slow, asked, sinks };
}

test('streams end cleanly, at once, although the deadline is long', async () => {
  const { path, edge } = await serve();
  const lines = await readLines('/v1/stream', path);
  const events = openRaw(path, 'GET /v1/stream HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n');
  await events.until(/data: /);
  expect(await lines.next()).toEqual({ n: 1 });
  await edge.drain(LONG_MS);
  expect(await lines.ended).toBe('end');
  expect(await events.ended).toMatch(/\r\n0\r\n\r\n$/);
  expect(edge.streams).toBe(0);
});

test('an answer that is due is given, and its kept connection closes after it', async () => {
  const { path, edge, slow, asked } = await serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await ask(path, { target: '/v1/quick', agent });
  const answer = ask(path, { target: '/v1/slow', agent });
  await soon(() => expect(asked).toHaveLength(1));
  const drained = edge.drain(LONG_MS);
  slow.resolve();
  expect(await answer).toMatchObject({ status: 200, json: { slow: true }, headers: { connection: 'close' } });
  await drained;
  agent.destroy();
});

test('an answer that its caller has not read yet is not cut short', async () => {
  const { path, edge, sinks } = await serve();
  const answer = await openPaused(path, '/v1/large');
  const stream = await openPaused(path, '/v1/stream');
  for (let n = 0; n < 100; n += 1) sinks[0]?.send({ text: 'x'.repeat(10_000) });
  const drained = edge.drain(LONG_MS);
  await ask(path, { target: '/v1/quick' }).catch(() => undefined);
  expect((await readAll(answer)).length).toBeGreaterThan(LARGE_BYTES);
  expect((await readAll(stream)).match(/x{10000}/g)).toHaveLength(100);
  await drained;
});

test('kept connections without a request are closed, new ones are refused', async () => {
  const { path, edge } = await serve();
  const kept = openRaw(path, get('/v1/quick'));
  await kept.until(/"quick":true/);
  await edge.drain(LONG_MS);
  await kept.ended;
  await expect(ask(path, { target: '/v1/quick' })).rejects.toThrow(/ECONNREFUSED|ENOENT/);
});

test('a request that ends only now gets 503 and its connection ends', async () => {
  const { path, edge } = await serve();
  const caller = openRaw(path, 'GET /v1/quick HTTP/1.1\r\nHost: ');
  await ask(path, { target: '/v1/quick' });
  const drained = edge.drain(LONG_MS);
  caller.socket.write('x\r\n\r\n');
  expect(await caller.ended).toMatch(/^HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*"shutting_down"/i);
  await drained;
});

test('a request behind one that is due is not begun', async () => {
  const { path, edge, slow, asked } = await serve();
  const caller = openRaw(path, get('/v1/slow'));
  await soon(() => expect(asked).toHaveLength(1));
  const drained = edge.drain(LONG_MS);
  caller.socket.write(get('/v1/slow'));
  slow.resolve();
  expect(await caller.ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close/i);
  await drained;
  expect(asked).toHaveLength(1);
});

test('a request whose body was still on its way is answered; a stream is not begun any more', async () => {
  const { path, edge } = await serve();
  const head = (line: string) =>
    `${line} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n`;
  const put = openRaw(path, head('PUT /v1/put'));
  const late = openRaw(path, head('POST /v1/late'));
  await put.until(/100 Continue/);
  await late.until(/100 Continue/);
  const drained = edge.drain(LONG_MS);
  put.socket.write('{"size":1}');
  late.socket.write('{"size":1}');
  expect(await put.ended).toMatch(/HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*"size":1/i);
  expect(await late.ended).toMatch(/HTTP\/1\.1 503 [\s\S]*connection: close[\s\S]*"shutting_down"/i);
  await drained;
});

test('an answer that is not given by the deadline is cut', async () => {
  const { path, edge, asked } = await serve();
  const stuck = openRaw(path, get('/v1/slow'));
  await soon(() => expect(asked).toHaveLength(1));
  await edge.drain(50);
  expect(await stuck.ended).toBe('');
});

test('an upgraded connection that does not end by itself is cut', async () => {
  const { path, edge } = await serve();
  const caller = openRaw(path, 'GET /v1/raw HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  expect(await caller.until(/\r\n\r\n$/)).toBe(
    'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n',
  );
  await edge.drain(50);
  await caller.ended;
});

test('a second call cuts at once', async () => {
  const { path, edge, asked } = await serve();
  const stuck = openRaw(path, get('/v1/slow'));
  await soon(() => expect(asked).toHaveLength(1));
  const first = edge.drain(LONG_MS);
  await edge.drain(0);
  await first;
  expect(await stuck.ended).toBe('');
});

test('draining an edge that never listened, or twice, is over at once', async () => {
  const { edge } = await serve();
  edge.createServer('readonly');
  await edge.drain(LONG_MS);
  await edge.drain(LONG_MS);
});
