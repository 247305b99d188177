// Handing over: no new connection is accepted, streams end cleanly, and every connected caller is answered, not refused.

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { ask } from '../support/ask.ts';
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
};
const LONG_MS = 60_000;
const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function serve() {
  const slow = Promise.withResolvers<void>();
  const asked: string[] = [];
  const served = await serveEdge(operations, {
    stream: (_call, sink) => sink.send({ n: 1 }),
    slow: async () => {
      asked.push('slow');
      await slow.promise;
      return { slow: true };
    },
    quick: () => ({ quick: true }),
  });
  return { ...served, slow, asked };
}

test('a connection that has said nothing yet is answered', async () => {
  const { path, edge } = await serve();
  const quiet = openRaw(path, '');
  await ask(path, { target: '/v1/quick' });
  const done = edge.handOver(LONG_MS);
  await sleep(50);
  quiet.socket.write(get('/v1/quick'));
  expect(await quiet.ended).toMatch(/^HTTP\/1\.1 200 .*connection: close.*\{"quick":true\}/is);
  await done;
});

test('a kept connection has its next answer, as the last one', async () => {
  const { path, edge } = await serve();
  const kept = openRaw(path, get('/v1/quick'));
  await kept.until(/quick/);
  const done = edge.handOver(LONG_MS);
  await sleep(20);
  kept.socket.write(get('/v1/quick'));
  const text = await kept.ended;
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  expect(text).toMatch(/connection: close/i);
  await done;
});

test('connections that stay silent are closed, and nothing waits for the deadline', async () => {
  const { path, edge } = await serve();
  const agent = new Agent({ keepAlive: true });
  await ask(path, { target: '/v1/quick', agent });
  const quiet = openRaw(path, '');
  const begun_ms = performance.now();
  await edge.handOver(LONG_MS);
  expect(performance.now() - begun_ms).toBeLessThan(15_000);
  expect(await quiet.ended).toBe('');
  agent.destroy();
});

test('streams end cleanly, those that are opened meanwhile as well', async () => {
  const { path, edge, slow } = await serve();
  const before = await readLines('/v1/stream', path);
  const late = openRaw(path, '');
  const busy = ask(path, { target: '/v1/slow' });
  await ask(path, { target: '/v1/quick' });
  const done = edge.handOver(LONG_MS);
  expect(await before.next()).toEqual({ n: 1 });
  expect(await before.ended).toBe('end');
  late.socket.write(get('/v1/stream'));
  expect(await late.ended).toMatch(/200 OK.*\{"n":1\}\n\r\n0\r\n\r\n$/s);
  slow.resolve();
  expect((await busy).status).toBe(200);
  await done;
});

test('what takes too long is told to try again, after those it waits for were ended', async () => {
  const { path, edge, slow, asked, log } = await serve();
  const answer = ask(path, { target: '/v1/slow' });
  await soon(() => expect(asked).toHaveLength(1));
  let ended = 0;
  await edge.handOver(100, {
    onDeadline() {
      ended += 1;
    },
  });
  expect(ended).toBe(1);
  expect(await answer).toMatchObject({ status: 503, json: { error: 'resuming' }, headers: { 'retry-after': '1' } });
  slow.resolve();
  await sleep(10);
  expect(log).toEqual([]);
});

test('an answer that the deadline ends by itself is that answer', async () => {
  const { path, edge, slow, asked } = await serve();
  const answer = ask(path, { target: '/v1/slow' });
  await soon(() => expect(asked).toHaveLength(1));
  await edge.handOver(100, { onDeadline: slow.resolve });
  expect(await answer).toMatchObject({ status: 200, json: { slow: true } });
});

test('what is answered at the deadline says what the caller was told to say', async () => {
  const { path, edge, slow, asked } = await serve();
  const answer = ask(path, { target: '/v1/slow' });
  await soon(() => expect(asked).toHaveLength(1));
  await edge.handOver(100, { error: new RemoraError('shutting_down', 'gone', { retryAfter_ms: 2_000 }) });
  expect(await answer).toMatchObject({ status: 503, json: { error: 'shutting_down', message: 'gone' } });
  slow.resolve();
});

test('half a request is cut at the deadline', async () => {
  const { path, edge } = await serve();
  const half = openRaw(path, 'GET /v1/quick HTTP/1.1\r\nHo');
  await ask(path, { target: '/v1/quick' });
  await edge.handOver(100);
  expect(await half.ended).toBe('');
});
