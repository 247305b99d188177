// Streams whose readers take every line as a record: no keep-alive line unless it is asked for.
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { type EventSink, KEEP_ALIVE_MS } from '../../src/http/event-sink.ts';
import { openRaw } from '../support/raw-http.ts';
import { serveEdge } from '../support/serve-edge.ts';

const shared = { summary: '', source: '', tag: 'test', errors: [], method: 'GET' } as const;
const quiet = defineOperation({
  ...shared,
  path: '/quiet',
  answer: { kind: 'stream', status: 200, schema: z.unknown(), quiet: true },
});
const usual = defineOperation({
  ...shared,
  path: '/usual',
  answer: { kind: 'stream', status: 200, schema: z.unknown() },
});

async function serve() {
  const send = (_call: unknown, sink: EventSink<unknown>) => sink.send({ type: 'init' });
  return await serveEdge({ quiet, usual }, { quiet: send, usual: send });
}

test.each([
  { target: '/usual', intervals: [KEEP_ALIVE_MS] },
  { target: '/quiet', intervals: [] },
  { target: '/quiet?keepalive=7', intervals: [7_000] },
])('$target is kept alive every $intervals ms', async ({ target, intervals }) => {
  const { path } = await serve();
  const spy = vi.spyOn(globalThis, 'setInterval');
  onTestFinished(() => spy.mockRestore());
  const caller = openRaw(path, `GET ${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await caller.until(/"init"/);
  const set = spy.mock.calls
    .map(([, ms]) => ms)
    .filter((ms) => ms === KEEP_ALIVE_MS || ms === 7_000 || ms === Infinity);
  expect(set).toEqual(intervals);
});

test('a quiet stream sends blank lines to a reader that asks for them', async () => {
  const { path } = await serve();
  const caller = openRaw(path, 'GET /quiet?keepalive=1 HTTP/1.1\r\nHost: x\r\n\r\n');
  await caller.until(/"init"[\s\S]*\r\n1\r\n\n\r\n/);
});
