// What an observer of an edge learns of calls: each once, when it is over, by whatever way it came and went.
import { expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import type { FinishedCall } from '../../src/http/finished-call.ts';
import { ask } from '../support/ask.ts';
import { openRaw } from '../support/raw-http.ts';
import { serveEdge } from '../support/serve-edge.ts';

const shared = { summary: '', source: '', tag: 'test', errors: [], method: 'GET' } as const;
const one = defineOperation({ ...shared, path: '/v1/one', answer: { kind: 'json', status: 200, schema: z.unknown() } });
const denied = defineOperation({ ...shared, path: '/v1/denied', answer: { kind: 'empty', status: 204 } });
const put = defineOperation({
  ...shared,
  method: 'PUT',
  path: '/v1/put',
  body: z.object({}),
  answer: { kind: 'empty', status: 204 },
});
const stream = defineOperation({
  ...shared,
  path: '/v1/stream',
  answer: { kind: 'stream', status: 200, schema: z.unknown(), upgrades: true },
});

async function serve(onCall?: () => never) {
  const calls: FinishedCall<undefined>[] = [];
  const operations = { one, denied, put, stream } as const;
  const served = await serveEdge(
    operations,
    { one: () => ({}), denied: () => undefined, put: () => undefined, stream: (_call, sink) => sink.open() },
    {
      onCall: onCall ?? ((call) => calls.push(call)),
      authenticate(_request, operation) {
        if (operation === denied) throw new RemoraError('forbidden', 'not for you');
      },
    },
  );
  /** The calls, as soon as there are so many. */
  const seen = async (count: number) => {
    await expect.poll(() => calls.length).toBeGreaterThanOrEqual(count);
    return calls.map(({ operation_id, method, status, complete }) => [operation_id, method, status, complete]);
  };
  return { ...served, calls, seen };
}

test('a call is known by its operation, whether it was answered, refused or unreadable', async () => {
  const { path, calls, seen } = await serve();
  for (const target of ['/v1/one?q=1', '/v1/denied', '/v1/nowhere']) await ask(path, { target });
  await openRaw(path, 'GET /v1/one HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n').ended;
  expect(await seen(4)).toEqual([
    ['one', 'GET', 200, true],
    ['denied', 'GET', 403, true],
    [undefined, 'GET', 404, true],
    [undefined, 'GET', 400, true],
  ]);
  expect(calls[0]).toMatchObject({ operation: one, listener: 'socket', ms: expect.any(Number) });
});

test('one that asks before it sends its body is seen as well', async () => {
  const { path, seen } = await serve();
  const head = 'PUT /v1/put HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 2\r\n';
  const caller = openRaw(path, `${head}Expect: 100-continue\r\nConnection: close\r\n\r\n`);
  await caller.until(/^HTTP\/1.1 100 /);
  caller.socket.write('{}');
  await caller.ended;
  expect(await seen(1)).toEqual([['put', 'PUT', 204, true]]);
});

test('a stream is over when its reader is gone, and a WebSocket when it is closed', async () => {
  const { path, calls, seen } = await serve();
  const reader = openRaw(path, 'GET /v1/stream HTTP/1.1\r\nHost: a\r\n\r\n');
  await reader.until(/\r\n\r\n/);
  expect(calls).toEqual([]);
  reader.socket.destroy();
  expect(await seen(1)).toEqual([['stream', 'GET', 200, false]]);
  const socket = new WebSocket(`ws+unix://${path}:/v1/stream`);
  await new Promise((resolve) => socket.once('open', resolve));
  expect(calls).toHaveLength(1);
  socket.close();
  expect((await seen(2))[1]).toEqual(['stream', 'GET', 101, true]);
});

test('an observer that fails harms no call', async () => {
  const fault = new TypeError('the observer is wrong');
  const { path, log } = await serve(() => {
    throw fault;
  });
  expect((await ask(path, { target: '/v1/one' })).status).toBe(200);
  await expect.poll(() => log).toContainEqual(expect.objectContaining({ level: 'error', err: fault }));
  expect((await ask(path, { target: '/v1/one' })).status).toBe(200);
});
