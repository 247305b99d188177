// Whatever a handler does: the process goes on, the caller gets an answer or a broken connection, the log has the cause.
import { getEventListeners } from 'node:events';
import { createConnection } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { ask } from '../support/ask.ts';
import { openRaw } from '../support/raw-http.ts';
import { serveEdge } from '../support/serve-edge.ts';
import { soon } from '../support/soon.ts';

const shared = { summary: '', source: '', tag: 'test', errors: [], method: 'GET' } as const;
const json = { kind: 'json', status: 200, schema: z.unknown() } as const;
const one = defineOperation({ ...shared, path: '/v1/one', answer: json });
const raw = defineOperation({ ...shared, path: '/v1/raw', answer: { kind: 'raw' } });
const stream = defineOperation({
  ...shared,
  path: '/v1/stream',
  answer: { kind: 'stream', status: 200, schema: z.unknown() },
});
const health = defineOperation({ ...shared, path: '/v1/health', answer: json });
const ok = () => ({ status: 'ok' });

const SECRET = 'password=hunter2';
const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`;

describe('a handler that throws', () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  test.each<[string, () => unknown]>([
    [
      'an error at once',
      () => {
        throw new TypeError(SECRET);
      },
    ],
    ['an error later', () => Promise.reject(new Error(SECRET))],
    ['undefined', () => Promise.reject(undefined)],
    ['a string', () => Promise.reject(SECRET)],
    [
      'null at once',
      () => {
        throw null;
      },
    ],
    [
      'an object that pretends to be ours',
      () => Promise.reject({ name: 'RemoraError', code: 'not_found', message: SECRET }),
    ],
    [
      'an error of ours with details that are not JSON',
      () => Promise.reject(new RemoraError('conflict', 'm', { details: circular })),
    ],
    ['a value that is not JSON', () => circular],
    ['a bigint', () => 1n],
  ])('%s gives a 500 that says nothing internal, and a log record', async (_name, handler) => {
    const { path, log } = await serveEdge({ one, health }, { one: handler, health: ok });
    const answer = await ask(path, { target: '/v1/one' });
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({
      error: 'internal',
      message: 'something went wrong inside; the log of the daemon has the cause',
    });
    expect(log.filter((record) => record.level === 'error')).not.toHaveLength(0);
    expect((await ask(path, { target: '/v1/health' })).json).toEqual({ status: 'ok' });
  });

  test('the log has the cause, and the caller not', async () => {
    const cause = new Error(SECRET);
    const { path, log } = await serveEdge(
      { one },
      {
        one: () => {
          throw new RemoraError('upstream_failed', 'the platform did not answer', { cause, retryAfter_ms: 1_500 });
        },
      },
    );
    const answer = await ask(path, { target: '/v1/one?q=1' });
    expect([answer.status, answer.headers['retry-after']]).toEqual([502, '2']);
    expect(answer.json).toEqual({ error: 'upstream_failed', message: 'the platform did not answer' });
    expect(log).toEqual([
      expect.objectContaining({ level: 'error', path: '/v1/one', err: expect.objectContaining({ cause }) }),
    ]);
  });

  test('the log has the path as the application writes it down', async () => {
    const { path, log } = await serveEdge(
      { one },
      { one: () => Promise.reject(new Error(SECRET)) },
      { toLoggedPath: (text) => text.replace('one', '[cut]') },
    );
    await ask(path, { target: '/v1/one?q=1' });
    expect(log).toEqual([expect.objectContaining({ level: 'error', path: '/v1/[cut]' })]);
  });

  test('what the caller did wrong is not logged as an error', async () => {
    const { path, log } = await serveEdge({ one }, { one: () => Promise.reject(new RemoraError('not_found', 'no')) });
    await ask(path, { target: '/v1/one' });
    expect(log).toEqual([]);
  });

  test('after its answer has begun breaks the connection off: never a clean end', async () => {
    const { path, log } = await serveEdge(
      { raw, health },
      {
        raw: (_call, response) => {
          response.write('the first half');
          return Promise.reject(new Error(SECRET));
        },
        health: ok,
      },
    );
    const caller = openRaw(path, get('/v1/raw'));
    const text = await caller.ended;
    expect(text).not.toMatch(/0\r\n\r\n$/);
    expect(text).not.toContain(SECRET);
    expect(log).toHaveLength(1);
    expect((await ask(path, { target: '/v1/health' })).status).toBe(200);
  });

  test('after its answer has ended leaves the answer and the connection alone', async () => {
    const { path, log } = await serveEdge(
      { raw, health },
      {
        raw: (_call, response) => {
          response.end('all of it');
          throw new Error(SECRET);
        },
        health: ok,
      },
    );
    const caller = openRaw(path, get('/v1/raw'));
    await caller.until(/all of it/);
    caller.socket.write(get('/v1/health'));
    expect(await caller.until(/"status":"ok"/)).toMatch(/all of it/);
    expect(log).toHaveLength(1);
  });

  test('in an open stream ends the stream with an error line', async () => {
    const { path, log } = await serveEdge(
      { stream },
      {
        stream: async (_call, sink) => {
          sink.send({ type: 'first' });
          await Promise.resolve();
          throw new Error(SECRET);
        },
      },
    );
    const answer = await ask(path, { target: '/v1/stream' });
    expect(answer.status).toBe(200);
    expect(
      answer.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([{ type: 'first' }, { type: 'error', error: 'internal', message: expect.not.stringContaining(SECRET) }]);
    expect(log).toHaveLength(1);
  });

  test('before the stream is open gives an ordinary error', async () => {
    const { path } = await serveEdge(
      { stream },
      { stream: () => Promise.reject(new RemoraError('not_ready', 'not yet')) },
    );
    expect((await ask(path, { target: '/v1/stream' })).status).toBe(503);
  });

  test('in its onClose listener reaches the log and nobody else', async () => {
    const second = Promise.withResolvers<void>();
    const { path, log, edge } = await serveEdge(
      { stream },
      {
        stream: (_call, sink) => {
          sink.onClose(() => {
            throw new Error(SECRET);
          });
          sink.onClose(() => second.resolve());
          sink.open();
        },
      },
    );
    const caller = openRaw(path, get('/v1/stream'));
    await caller.until(/\r\n\r\n/);
    caller.socket.destroy();
    await second.promise;
    expect(log).toEqual([
      expect.objectContaining({ level: 'error', err: expect.objectContaining({ message: SECRET }) }),
    ]);
    expect(edge.streams).toBe(0);
  });
});

describe('the signal of a call', () => {
  async function serveSignal() {
    const signals: AbortSignal[] = [];
    const seen = Promise.withResolvers<AbortSignal>();
    const served = await serveEdge(
      { one, raw, health },
      {
        one: (call) => {
          signals.push(call.signal);
          return { n: signals.length };
        },
        raw: (call, response) => {
          seen.resolve(call.signal);
          response.write('begun');
          return new Promise<void>(() => {});
        },
        health: (call) => {
          seen.resolve(call.signal);
          return new Promise<never>(() => {});
        },
      },
    );
    return { ...served, signals, seen: seen.promise };
  }

  test.each(['/v1/health', '/v1/raw'])(
    'aborts when the caller of %s goes away, although the handler never settles',
    async (target) => {
      const { path, seen } = await serveSignal();
      const caller = openRaw(path, get(target));
      const signal = await seen;
      expect(signal.aborted).toBe(false);
      caller.socket.destroy();
      await soon(() => expect(signal.aborted).toBe(true));
      expect((await ask(path, { target: '/v1/one' })).status).toBe(200);
    },
  );

  test('aborts also for a pipelined request that has not had its turn', async () => {
    const later = defineOperation({
      ...shared,
      path: '/v1/later',
      answer: { kind: 'stream', status: 200, schema: z.unknown() },
    });
    const closed = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<AbortSignal>();
    const { path, edge } = await serveEdge(
      { health, later },
      {
        health: () => new Promise<never>(() => {}),
        later: (call, sink) => {
          sink.open();
          sink.onClose(() => closed.resolve());
          begun.resolve(call.signal);
        },
      },
    );
    const caller = openRaw(path, get('/v1/health') + get('/v1/later'));
    const signal = await begun.promise;
    expect(edge.streams).toBe(1);
    caller.socket.destroy();
    await closed.promise;
    expect(signal.aborted).toBe(true);
    expect(edge.streams).toBe(0);
  });

  test('does not abort when the answer was complete', async () => {
    const { path, signals } = await serveSignal();
    const caller = openRaw(path, get('/v1/one') + get('/v1/one'));
    await caller.until(/"n":2/);
    caller.socket.destroy();
    await caller.ended;
    await ask(path, { target: '/v1/one' });
    expect(signals.map((signal) => signal.aborted)).toEqual([false, false, false]);
    expect(signals.flatMap((signal) => getEventListeners(signal, 'abort'))).toEqual([]);
  });
});

test('a caller who leaves in the middle of a body is no error of ours', async () => {
  const handled = vi.fn();
  const put = defineOperation({ ...shared, method: 'PUT', path: '/v1/put', body: z.unknown(), answer: json });
  const { path, log } = await serveEdge({ put, one }, { put: handled, one: ok });
  const head = 'PUT /v1/put HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{';
  const caller = createConnection(path);
  caller.write(head);
  await new Promise((resolve) => caller.once('connect', resolve));
  await ask(path, { target: '/v1/one' });
  caller.destroy();
  await ask(path, { target: '/v1/one' });
  await ask(path, { target: '/v1/one' });
  expect(handled).not.toHaveBeenCalled();
  expect(log).toEqual([]);
});
