// Streams of events: their two forms, keep-alive, and what happens to readers that are slow.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineOperation } from '../../src/contract/operation.ts';
import { acceptsEventStream } from '../../src/http/accepts-event-stream.ts';
import {
  clampKeepAlive,
  type EventSink,
  type EventSinkOptions,
  READER_CAP_BYTES,
  READER_HARD_CAP_BYTES,
  ResponseSink,
} from '../../src/http/event-sink.ts';
import { ask } from '../support/ask.ts';
import { openPaused, readAll } from '../support/paused-reader.ts';
import { openRaw } from '../support/raw-http.ts';
import { readLines } from '../support/read-lines.ts';
import { serveEdge } from '../support/serve-edge.ts';
import { soon } from '../support/soon.ts';

const shared = { summary: '', source: '', tag: 'test', errors: [], method: 'GET' } as const;
const stream = defineOperation({
  ...shared,
  path: '/v1/stream',
  answer: { kind: 'stream', status: 200, schema: z.unknown() },
});
const plain = defineOperation({
  ...shared,
  path: '/events',
  answer: { kind: 'stream', status: 200, schema: z.unknown(), type: 'application/json' },
});
const raw = defineOperation({ ...shared, path: '/v1/raw', answer: { kind: 'raw' } });

/** Every reader's sink, in the order of their arrival. */
async function serveStream() {
  const sinks: EventSink<unknown>[] = [];
  const keep = (_call: unknown, sink: EventSink<unknown>) => {
    sink.open();
    sinks.push(sink);
  };
  const served = await serveEdge({ stream, plain }, { stream: keep, plain: keep });
  return { ...served, sinks };
}

/** Serves as the edge does, with limits that a test can wait for. */
async function serveSink(options: EventSinkOptions) {
  const sinks: ResponseSink<unknown>[] = [];
  const signals: AbortSignal[] = [];
  const served = await serveEdge(
    { raw },
    {
      raw: (call, response) => {
        const sink = new ResponseSink<unknown>(call.request, response, options);
        sink.open();
        sinks.push(sink);
        signals.push(call.signal);
      },
    },
  );
  return { ...served, sinks, signals };
}

const toLines = (text: string) => text.split('\n').filter((line) => line !== '');

describe('the form of a stream', () => {
  test.each([
    [undefined, false],
    ['*/*', false],
    ['text/*', false],
    ['text/html', false],
    ['text/event-stream', true],
    ['Text/Event-Stream', true],
    ['text/event-stream;charset=utf-8', true],
    ['text/event-stream, */*;q=0.1', true],
    ['*/*, text/event-stream', true],
    ['application/x-ndjson, text/event-stream;q=0.9', false],
    ['application/x-ndjson;q=0.5, text/event-stream;q=0.9', true],
    ['text/event-stream;q=0.5, application/*', false],
    ['text/event-stream;q=0', false],
    ['text/event-stream;q=0, text/event-stream;q=0.001', true],
    ['text/event-stream;q=banana', true],
    ['text/event-streams', false],
    ['x-text/event-stream', false],
    ['', false],
    [',;,q=', false],
  ])('Accept: %s gives events: %s', (accept, isEvents) => {
    expect(acceptsEventStream(accept, 'application/x-ndjson')).toBe(isEvents);
  });

  test('lines: one JSON value each, the headers and every event at once', async () => {
    const { path, sinks } = await serveStream();
    const caller = openRaw(path, 'GET /v1/stream HTTP/1.1\r\nHost: x\r\n\r\n');
    const head = await caller.until(/\r\n\r\n/);
    expect(head).toMatch(/content-type: application\/x-ndjson\r\n/);
    expect(head).toMatch(/cache-control: no-cache\r\n/);
    for (const n of [1, 2, 3]) {
      sinks[0]?.send({ n });
      await caller.until(new RegExp(`\\{"n":${n}\\}\\n\\r\\n$`));
    }
    sinks[0]?.end();
    expect(await caller.until(/\r\n0\r\n\r\n$/)).toBeDefined();
  });

  test('server-sent events', async () => {
    const { path, sinks } = await serveStream();
    const caller = openRaw(path, 'GET /v1/stream HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n');
    expect(await caller.until(/\r\n\r\n/)).toMatch(/content-type: text\/event-stream\r\n/);
    sinks[0]?.send({ n: 1 });
    await caller.until(/data: \{"n":1\}\n\n\r\n$/);
    sinks[0]?.fail('shutting_down', 'bye');
    await caller.until(/data: \{"type":"error","error":"shutting_down","message":"bye"\}\n\n\r\n0\r\n\r\n$/);
  });

  test('the content type that a document names', async () => {
    const { path, sinks } = await serveStream();
    const reader = await readLines('/events', path);
    expect(reader.response.headers['content-type']).toBe('application/json');
    sinks[0]?.end();
    expect(await reader.ended).toBe('end');
  });

  test('HEAD has the headers of the stream and ends', async () => {
    const { path, edge } = await serveStream();
    const head = await ask(path, { method: 'HEAD', target: '/v1/stream' });
    expect([head.status, head.headers['content-type']]).toEqual([200, 'application/x-ndjson']);
    expect(edge.streams).toBe(0);
  });
});

describe('keep-alive', () => {
  test.each([
    [undefined, 15_000],
    ['', 15_000],
    [' ', 15_000],
    ['NaN', 15_000],
    ['soon', 15_000],
    ['0', 1_000],
    ['-1', 1_000],
    ['-Infinity', 1_000],
    ['0.0001', 1_000],
    ['20', 20_000],
    ['300', 300_000],
    ['1e9', 300_000],
    ['Infinity', 300_000],
    ['99999999999999999999999999', 300_000],
  ])('keepalive=%s is %i ms', (seconds, expected_ms) => {
    expect(clampKeepAlive(seconds)).toBe(expected_ms);
  });

  test.each(['0', '-1', 'NaN', '1e9', 'soon'])('keepalive=%s of a caller is served', async (seconds) => {
    const { path, sinks } = await serveStream();
    const reader = await readLines(`/v1/stream?keepalive=${seconds}`, path);
    sinks[0]?.send({ n: 1 });
    expect(await reader.next()).toEqual({ n: 1 });
  });

  test.each([
    ['a blank line', '', /\r\n1\r\n\n\r\n/],
    ['a comment', 'Accept: text/event-stream\r\n', /\r\n3\r\n:\n\n\r\n/],
  ])('is %s', async (_name, accept, expected) => {
    const { path } = await serveStream();
    const caller = openRaw(path, `GET /v1/stream?keepalive=0 HTTP/1.1\r\nHost: x\r\n${accept}\r\n`);
    await caller.until(expected);
  });
});

describe('a slow reader', () => {
  const event = { type: 'event', text: 'x'.repeat(10_000) };

  test('that never reads is cut with the reason as its last line, and delays nobody', async () => {
    const { path, sinks } = await serveStream();
    const stuck = await openPaused(path, '/v1/stream');
    const reader = await readLines('/v1/stream', path);
    const [stuckSink, readerSink] = sinks;
    let sent = 0;
    while (stuckSink?.closed === false && sent < 5_000) {
      sent += 1;
      stuckSink.send({ ...event, n: sent });
      readerSink?.send({ n: sent });
      expect(await reader.next()).toEqual({ n: sent });
    }
    expect(stuckSink?.closed).toBe(true);
    expect(sent * 10_000).toBeLessThan(READER_HARD_CAP_BYTES + 3 * READER_CAP_BYTES);
    const lines = toLines(await readAll(stuck));
    expect(JSON.parse(lines.at(-1) ?? '')).toEqual({
      type: 'error',
      error: 'slow_reader',
      message: expect.stringContaining('reconnect'),
    });
    expect(lines).toHaveLength(sent);
    readerSink?.send({ n: 'still here' });
    expect(await reader.next()).toEqual({ n: 'still here' });
  });

  test('that has hung up by the time it is cut leaves nothing behind', async () => {
    const { path, sinks, edge } = await serveStream();
    const stuck = await openPaused(path, '/v1/stream');
    for (let n = 0; n < 50; n += 1) sinks[0]?.send(event);
    stuck.destroy();
    await soon(() => expect(sinks[0]?.closed).toBe(true));
    expect(edge.streams).toBe(0);
  });

  test('is cut when it takes nothing for a while, also if no further event comes', async () => {
    const { path, sinks } = await serveSink({ cap_bytes: 100_000, stall_ms: 150 });
    const stuck = await openPaused(path, '/v1/raw');
    for (let n = 0; n < 100; n += 1) sinks[0]?.send(event);
    expect(sinks[0]?.closed).toBe(false);
    await soon(() => expect(sinks[0]?.closed).toBe(true));
    const lines = toLines(await readAll(stuck));
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ type: 'error', error: 'slow_reader' });
  });

  test('that takes no notice of having been cut is broken off after the grace', async () => {
    const { path, sinks, signals } = await serveSink({ cap_bytes: 100_000, stall_ms: 50, grace_ms: 50 });
    const stuck = await openPaused(path, '/v1/raw');
    stuck.on('error', () => undefined);
    for (let n = 0; n < 100; n += 1) sinks[0]?.send(event);
    await soon(() => expect(signals[0]?.aborted).toBe(true));
    const closed = new Promise((resolve) => stuck.once('close', resolve));
    stuck.resume();
    await closed;
    expect(stuck.complete).toBe(false);
  });

  test('is left alone while it reads at all, however slowly', async () => {
    const { path, sinks } = await serveSink({ cap_bytes: 100_000, stall_ms: 1_500 });
    const slow = await openPaused(path, '/v1/raw');
    for (let n = 0; n < 150; n += 1) sinks[0]?.send({ ...event, n });
    let size = 0;
    let lines = 0;
    slow.on('data', (chunk: Buffer) => {
      size += chunk.length;
      lines += chunk.toString('latin1').split('\n').length - 1;
      slow.pause();
      setTimeout(() => slow.resume(), 120);
    });
    slow.resume();
    await soon(() => expect(lines).toBe(150));
    expect(size).toBeGreaterThan(1_500_000);
    expect(sinks[0]?.closed).toBe(false);
  });

  test('a burst of twice the cap in one go does not cut a reader that reads', async () => {
    const { path, sinks } = await serveStream();
    const reader = await readLines('/v1/stream', path);
    const count = Math.ceil((2 * READER_CAP_BYTES) / 10_000);
    for (let n = 0; n < count; n += 1) sinks[0]?.send({ n, text: event.text });
    for (let n = 0; n < count; n += 1) expect((await reader.next()).n).toBe(n);
    expect(sinks[0]?.closed).toBe(false);
    sinks[0]?.end();
    expect(await reader.ended).toBe('end');
  });
});
