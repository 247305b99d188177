// Errors of an application's own classes: each becomes the answer that the application says, wherever it is thrown.
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import type { MapError } from '../../src/http/error-answer.ts';
import type { Handlers } from '../../src/http/handler.ts';
import { ask } from '../support/ask.ts';
import { serveEdge } from '../support/serve-edge.ts';

const SECRET = 'password=hunter2';
const shared = { summary: '', source: '', tag: 'test', errors: [], method: 'GET' } as const;
const one = defineOperation({ ...shared, path: '/v1/one', answer: { kind: 'json', status: 200, schema: z.unknown() } });
const denied = defineOperation({ ...shared, path: '/v1/denied', answer: { kind: 'empty', status: 204 } });
const stream = defineOperation({
  ...shared,
  path: '/v1/stream',
  answer: { kind: 'stream', status: 200, schema: z.unknown() },
});

const operations = { one, denied, stream } as const;

class DiskFull extends Error {}
class Unmatched extends Error {}

const mapDiskFull: MapError = (error) =>
  error instanceof DiskFull
    ? { status: 507, code: 'disk_full', message: 'free some space', details: { free: 0 }, retryAfter_ms: 1_500 }
    : undefined;

/** `thrown` comes from every handler, and from `authenticate` for one operation. */
function serve(thrown: unknown, mapError: MapError = mapDiskFull) {
  const handlers: Handlers<typeof operations, undefined> = {
    one: () => Promise.reject(thrown),
    denied: () => undefined,
    stream: async (_call, sink) => {
      sink.send({ type: 'first' });
      await Promise.resolve();
      throw thrown;
    },
  };
  return serveEdge(operations, handlers, {
    mapError,
    authenticate(_request, operation) {
      if (operation === denied) throw thrown;
    },
  });
}

test.each(['/v1/one', '/v1/denied'])('one that is known is answered as the application says: %s', async (target) => {
  const error = new DiskFull(SECRET);
  const { path, log } = await serve(error);
  const answer = await ask(path, { target });
  expect([answer.status, answer.headers['retry-after'], answer.headers['remora-error']]).toEqual([
    507,
    '2',
    'disk_full',
  ]);
  expect(answer.json).toEqual({ error: 'disk_full', message: 'free some space', details: { free: 0 } });
  expect(log).toEqual([expect.objectContaining({ level: 'error', message: 'a handler failed', err: error })]);
});

test('in an open stream it is the last line', async () => {
  const { path } = await serve(new DiskFull(SECRET));
  const answer = await ask(path, { target: '/v1/stream' });
  const lines = answer.text.trim().split('\n');
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { type: 'first' },
    { type: 'error', error: 'disk_full', message: 'free some space' },
  ]);
});

test('one below 500 is the business of its caller and not logged', async () => {
  const mapError = () => ({ status: 409, code: 'taken', message: 'choose another name' });
  const { path, log } = await serve(new DiskFull(SECRET), mapError);
  expect((await ask(path, { target: '/v1/one' })).json).toEqual({ error: 'taken', message: 'choose another name' });
  expect(log).toEqual([]);
});

test('one that is not known is a 500 that says nothing of it', async () => {
  const { path, log } = await serve(new Unmatched(SECRET));
  const answer = await ask(path, { target: '/v1/one' });
  expect([answer.status, answer.text.includes(SECRET)]).toEqual([500, false]);
  expect(log).toHaveLength(1);
});

test('a mapping that fails is a 500 and ends nothing', async () => {
  const fault = new TypeError('the mapping is wrong');
  const { path, log } = await serve(new DiskFull(SECRET), () => {
    throw fault;
  });
  expect((await ask(path, { target: '/v1/one' })).status).toBe(500);
  expect((await ask(path, { target: '/v1/denied' })).status).toBe(500);
  expect(log).toContainEqual(expect.objectContaining({ level: 'error', err: fault }));
});
