// An exchange that passes to a server at a Unix socket without undici: what the caller sends and gets, and who waits for whom.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { InnerHeaders } from '../../src/core/http/inner-headers.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import type { ExchangeUpstream } from '../../src/http/exchange-upstream.ts';
import { createSocketDispatcher } from '../../src/http/socket-dispatcher.ts';
import { streamExchange } from '../../src/http/streaming-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/temp-dir.ts';

const LARGE = 4 * 1024 * 1024;

/** The port of a server that passes everything on to `far`, and how its exchanges ended. */
async function openPair(far: RequestListener, more: Partial<ExchangeUpstream> = {}) {
  const path = join(tempDir(), 's');
  const farServer = createServer(far).on('checkContinue', far).listen(path);
  const ends: string[] = [];
  const pass = async (asked: IncomingMessage, response: ServerResponse) => {
    const dispatcher = createSocketDispatcher(path);
    try {
      const outcome = await streamExchange(asked, response, {
        dispatcher: () => dispatcher,
        origin: 'http://far',
        path: asked.url ?? '/',
        headers: new InnerHeaders(),
        from: 'file process',
        ...more,
      });
      ends.push(outcome.ended);
    } catch (error) {
      ends.push(error instanceof RemoraError ? error.code : 'thrown');
      response.writeHead(502).end();
    }
  };
  const near = createServer(pass).on('checkContinue', pass).listen(0, '127.0.0.1');
  onTestFinished(() => {
    near.close().closeAllConnections();
    farServer.close().closeAllConnections();
  });
  await once(near, 'listening');
  const { port } = near.address() as AddressInfo;
  const ask = (method: string, headers: Readonly<Record<string, string | number>> = {}) => {
    const asking = request({ port, method, path: '/a?b=c', headers, agent: false });
    asking.on('error', () => undefined);
    return asking;
  };
  return { ask, ends, farServer };
}

async function read(answer: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

const echo: RequestListener = (asked, response) => {
  response.setHeader('x-target', `${asked.method} ${asked.url}`);
  response.setHeader('x-framing', asked.headers['content-length'] ?? String(asked.headers['transfer-encoding']));
  asked.pipe(response);
};

test('bodies of every length and framing pass both ways', async () => {
  const { ask, ends } = await openPair((asked, response) => {
    if (asked.headers.expect !== undefined) response.writeContinue();
    echo(asked, response);
  });
  for (const [length, isChunked] of [
    [0, false],
    [10, false],
    [LARGE, false],
    [LARGE, true],
  ] as const) {
    const body = Buffer.alloc(length, 'x');
    const asking = ask('PUT', isChunked ? {} : { 'content-length': length });
    if (isChunked) asking.write(body.subarray(0, 1_000));
    asking.end(body.subarray(isChunked ? 1_000 : 0));
    const [answer] = await once(asking, 'response');
    expect(answer.headers['x-target']).toBe('PUT /a?b=c');
    expect(answer.headers['x-framing']).toBe(isChunked ? 'chunked' : String(length));
    expect((await read(answer)).equals(body)).toBe(true);
  }
  await eventually(() => ends.length === 4);
  expect(ends).toEqual(Array(4).fill('complete'));
});

test('a body that was read before is sent in its place', async () => {
  const body = Buffer.from('{"a":1}');
  const headers = { request: () => ['content-length', '7'], response: (all: readonly string[]) => [...all] };
  const { ask } = await openPair(echo, { body, headers: { ...headers, mayShow: () => true } });
  const [answer] = await once(ask('POST').end(), 'response');
  expect(String(await read(answer))).toBe('{"a":1}');
});

test('a caller is told to send its body when the far side wants it, and not when it refuses', async () => {
  const wants = Promise.withResolvers<void>();
  const { ask } = await openPair(async (asked, response) => {
    if (asked.method === 'POST') {
      response.writeHead(409).end('no');
      return;
    }
    await wants.promise;
    response.writeContinue();
    echo(asked, response);
  });
  for (const length of [5, LARGE]) {
    const told: string[] = [];
    const refused = ask('POST', { expect: '100-continue', 'content-length': length });
    refused.once('continue', () => told.push('continue'));
    refused.flushHeaders();
    const [answer] = await once(refused, 'response');
    expect([answer.statusCode, String(await read(answer)), told]).toEqual([409, 'no', []]);
    refused.destroy();
  }
  const waiting = ask('PUT', { expect: '100-continue', 'content-length': 5 });
  let isTold = false;
  waiting.once('continue', () => {
    isTold = true;
    waiting.end('hello');
  });
  waiting.flushHeaders();
  await sleep(100);
  expect(isTold).toBe(false);
  wants.resolve();
  const [answer] = await once(waiting, 'response');
  expect([isTold, String(await read(answer))]).toEqual([true, 'hello']);
});

test('a caller that goes away, a far side that breaks off, and none', async () => {
  const closed: string[] = [];
  const { ask, ends, farServer } = await openPair((asked, response) => {
    if (asked.headers.expect !== undefined) response.writeContinue();
    asked.on('error', () => undefined).once('data', () => closed.push('begun'));
    response.once('close', () => closed.push(asked.method ?? ''));
    if (asked.method !== 'GET') return;
    response.writeHead(200, { 'content-length': LARGE });
    response.write('a part', () => response.destroy());
  });
  const left = ask('PUT', { 'content-length': LARGE });
  left.write(Buffer.alloc(1_000));
  await eventually(() => closed.includes('begun') || undefined);
  left.destroy();
  await eventually(() => closed.includes('PUT') || undefined);
  expect(await eventually(() => ends[0])).toBe('caller_gone');

  const [answer] = await once(ask('GET').end(), 'response');
  await expect(read(answer)).rejects.toThrow();
  expect(await eventually(() => ends[1])).toBe('upstream_broke');

  farServer.close().closeAllConnections();
  const [none] = await once(ask('GET').end(), 'response');
  expect([none.statusCode, ends[2]]).toEqual([502, 'upstream_failed']);
});

test('an answer waits for a slow caller', async () => {
  let written = 0;
  const { ask } = await openPair((_asked, response) => {
    const piece = Buffer.alloc(64 * 1024);
    const more = () => {
      while (written < 64 * LARGE) {
        written += piece.length;
        if (!response.write(piece)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  });
  const [answer] = await once(ask('GET').end(), 'response');
  answer.pause();
  let last = -1;
  await eventually(async () => {
    const isStill = written === last;
    last = written;
    await sleep(200);
    return isStill || undefined;
  });
  expect(written).toBeLessThan(16 * LARGE);
  answer.destroy();
});
