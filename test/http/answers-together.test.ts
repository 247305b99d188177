// Answers that end in one turn of the event loop leave together when it is over, whole, and without those whose callers have gone.
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Agent } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { createAnswerGuard } from '../../src/core/gateway/answer-guard.ts';
import { GatewayHeaders } from '../../src/core/gateway/gateway-headers.ts';
import { Secret } from '../../src/core/secret.ts';
import { AnswerWriter } from '../../src/http/answer-writer.ts';
import { streamExchange } from '../../src/http/streaming-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { openRaw } from '../support/raw-http.ts';
import { tempDir } from '../support/temp-dir.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const LARGE_BYTES = 256 * 1024;
const source = { pause: () => undefined, resume: () => undefined };
const nextTick = () => new Promise<void>((resolve) => process.nextTick(resolve));
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Resolves with the responses to so many callers, in any order, once all have asked. */
async function openAnswers(callers: number) {
  const path = join(tempDir(), 's');
  const responses: ServerResponse[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const server = createServer((_request, response) => {
    responses.push(response);
    if (responses.length === callers) resolve();
  });
  await new Promise<void>((done) => server.listen(path, done));
  onTestFinished(() => void server.close());
  const raws = Array.from({ length: callers }, () => openRaw(path, REQUEST));
  await promise;
  // What the turn in which the last one came has begun is over.
  await nextTurn();
  return { responses, raws };
}

it('writes the answers of a turn when it is over, with the bytes that were seen', async () => {
  const { responses, raws } = await openAnswers(3);
  const seen: string[] = [];
  for (const [place, response] of responses.entries()) {
    const writer = new AnswerWriter(response, source, (bytes) => seen.push(bytes.toString()));
    writer.push(Buffer.from(`answer ${place} `));
    writer.push(Buffer.from('as a whole'));
    writer.end();
  }
  await nextTick();
  expect(responses.map(({ headersSent, writableEnded }) => [headersSent, writableEnded])).toEqual(
    responses.map(() => [false, false]),
  );
  await nextTurn();
  expect(responses.map(({ writableEnded }) => writableEnded)).toEqual(responses.map(() => true));
  const texts = await Promise.all(raws.map(({ ended }) => ended));
  expect(seen).toEqual(['answer 0 as a whole', 'answer 1 as a whole', 'answer 2 as a whole']);
  const bodies = texts.map((text) => text.slice(text.indexOf('\r\n\r\n') + 4));
  expect(bodies.toSorted()).toEqual(seen);
});

it('ends an answer without a body, and one whose body is large, with every byte', async () => {
  const { responses, raws } = await openAnswers(2);
  const [empty, large] = responses;
  if (empty === undefined || large === undefined) throw new Error('two were asked');
  empty.writeHead(204);
  new AnswerWriter(empty, source).end();
  const writer = new AnswerWriter(large, source);
  large.writeHead(200, { 'content-length': LARGE_BYTES });
  writer.push(Buffer.alloc(LARGE_BYTES, 'x'));
  writer.end();
  const texts = await Promise.all(raws.map(({ ended }) => ended));
  const [first, second] = texts.toSorted((one, other) => one.length - other.length);
  expect(first).toMatch(/^HTTP\/1\.1 204 [\s\S]*\r\n\r\n$/);
  expect(second?.endsWith(`\r\n\r\n${'x'.repeat(LARGE_BYTES)}`)).toBe(true);
});

it('leaves out a caller that goes away before the turn is over', async () => {
  const { responses, raws } = await openAnswers(2);
  const [gone, stays] = responses;
  if (gone === undefined || stays === undefined) throw new Error('two were asked');
  const errors: unknown[] = [];
  gone.on('error', (error) => errors.push(error));
  for (const response of responses) {
    const writer = new AnswerWriter(response, source);
    writer.push(Buffer.from('whole'));
    writer.end();
  }
  gone.destroy();
  const texts = await Promise.all(raws.map(({ ended }) => ended));
  expect(texts.filter((text) => text === '')).toHaveLength(1);
  expect(texts.filter((text) => text.endsWith('\r\n\r\nwhole'))).toHaveLength(1);
  expect([gone.writableEnded, stays.writableEnded, errors]).toEqual([false, true, []]);
});

it('writes an answer at once when no other call is under way, unless others wait for the end of the turn', async () => {
  const { responses, raws } = await openAnswers(3);
  const [first, second, third] = responses.map((response) => new AnswerWriter(response, source));
  first?.push(Buffer.from('first'));
  first?.end(true);
  expect(responses.map(({ writableEnded }) => writableEnded)).toEqual([true, false, false]);
  second?.end(false);
  third?.end(true);
  expect(responses.map(({ writableEnded }) => writableEnded)).toEqual([true, false, false]);
  await nextTurn();
  expect(responses.map(({ writableEnded }) => writableEnded)).toEqual([true, true, true]);
  const texts = await Promise.all(raws.map(({ ended }) => ended));
  expect(texts.filter((text) => text.endsWith('\r\n\r\nfirst'))).toHaveLength(1);
});

it('knows which calls are under way, also after some that failed, were given up or broke off', async () => {
  const isWaiting = Promise.withResolvers<void>();
  const upstream = createServer((request, response) => {
    if (request.url === '/waits') isWaiting.resolve();
    else if (request.url === '/fails') request.socket.destroy();
    else if (request.url === '/breaks') response.write('half', () => request.socket.destroy());
    else response.end('whole');
  });
  upstream.listen(0, '127.0.0.1');
  await once(upstream, 'listening');
  const dispatcher = new Agent();
  const headers = new GatewayHeaders({
    from: 'provider',
    injected: [],
    guard: createAnswerGuard(new Secret('hunter2')),
  });
  let isInTurn = false;
  const atOnce: boolean[] = [];
  const onTurn = () => {
    isInTurn = true;
    setImmediate(() => {
      isInTurn = false;
    });
  };
  const path = join(tempDir(), 's');
  const server = createServer((request, response) => {
    response.on('prefinish', () => atOnce.push(isInTurn));
    const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    const to = {
      dispatcher: () => dispatcher,
      origin,
      path: request.url ?? '',
      headers,
      from: 'provider',
      onTurn,
    } as const;
    streamExchange(request, response, to).catch(() => response.destroy());
  });
  await new Promise<void>((done) => server.listen(path, done));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await dispatcher.destroy();
    upstream.closeAllConnections();
    upstream.close();
  });
  const ask = (url: string) => openRaw(path, REQUEST.replace('/', url));

  await Promise.all([ask('/fails').ended, ask('/breaks').ended]);
  const waiting = ask('/waits');
  await isWaiting.promise;
  await ask('/').ended;
  expect(atOnce).toEqual([false]);
  waiting.socket.destroy();
  // Calls of other tests of this process may still be on their way to their ends.
  await eventually(async () => {
    await ask('/').ended;
    return atOnce.at(-1) === true;
  });
});
