// The client for plain calls beside undici, which carries all others: both make the same of what an upstream sends.
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { Dispatcher, buildConnector as undiciConnector } from 'undici';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { cutSocket } from '../../src/http/cut-socket.ts';
import { joinAnswerChunks } from '../../src/http/join-answer-chunks.ts';
import { inOwnTurn } from '../../src/http/own-turns.ts';
import { PlainPool, type PlainPoolOptions, readTogether } from '../../src/http/plain-pool.ts';
import { toPlainRequest } from '../../src/http/plain-request.ts';
import { Agent, buildConnector } from '../../src/http/undici.ts';
import { createDice } from '../support/dice.ts';
import { eventually } from '../support/eventually.ts';
import { oddAnswers, toOddAnswer } from '../support/odd-answers.ts';
import { openRawUpstream } from '../support/raw-upstream.ts';
import { tempDir } from '../support/temp-dir.ts';

const LIMIT_MS = 20_000;

type Client = Pick<Dispatcher, 'dispatch'> & { destroy(error: Error): unknown };

function openPool(origin: string, more: Partial<PlainPoolOptions> = {}): PlainPool {
  const pool = new PlainPool({
    origin,
    connect: buildConnector({ timeout: LIMIT_MS, ...readTogether() }),
    keepAlive_ms: LIMIT_MS,
    headersTimeout_ms: LIMIT_MS,
    bodyTimeout_ms: LIMIT_MS,
    onFailure: () => undefined,
    onHead: () => undefined,
    ...more,
  });
  onTestFinished(() => pool.destroy(new Error('the test is over')));
  return pool;
}

function openUndici(where: undiciConnector.BuildOptions = {}): Client {
  const connect = joinAnswerChunks(buildConnector(where));
  return new Agent({ keepAliveTimeout: LIMIT_MS, pipelining: 1, allowH2: false, connect });
}

interface Told {
  readonly heads: unknown[];
  body: string;
  /** The trailers of an answer that came to its end. */
  trailers: readonly string[] | undefined;
  /** The code of what went wrong, or its message. */
  error: string | undefined;
}

interface Call {
  readonly told: Told;
  readonly over: Promise<Told>;
  /** Set once the call is under way. */
  controller?: Dispatcher.DispatchController;
}

function toTexts(raw: unknown): string[] {
  return Array.isArray(raw)
    ? raw.map((item: Buffer | string) => (typeof item === 'string' ? item : item.toString('latin1')))
    : [];
}

function call(
  client: Pick<Dispatcher, 'dispatch'>,
  origin: string,
  more: Partial<Dispatcher.DispatchOptions> = {},
): Call {
  const told: Told = { heads: [], body: '', trailers: undefined, error: undefined };
  const { promise, resolve } = Promise.withResolvers<Told>();
  const made: Call = { told, over: promise };
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(controller) {
      made.controller = controller;
    },
    onResponseStart(controller, status, _headers, phrase = '') {
      const isShown = /^[\t -~]*$/.test(phrase);
      told.heads.push([status, toTexts(controller.rawHeaders), isShown ? phrase : undefined]);
    },
    onResponseData(_controller, bytes) {
      told.body += bytes.toString('latin1');
    },
    onResponseEnd(controller) {
      told.trailers = toTexts(controller.rawTrailers);
      resolve(told);
    },
    onResponseError(_controller, error) {
      told.error = (error as NodeJS.ErrnoException).code ?? error.message;
      resolve(told);
    },
  };
  client.dispatch({ origin, path: '/', method: 'GET', headers: [], body: null, ...more }, handler);
  return made;
}

describe('beside undici', () => {
  let origin = '';
  let answer: { readonly bytes: string; readonly ends?: boolean } = { bytes: '' };
  /** Which connection each request came over. */
  let asked: number[] = [];
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    const number = connections;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (request: Buffer) => {
      asked.push(number);
      if (request.includes('/again')) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      else if (answer.ends) socket.end(answer.bytes, 'latin1');
      else socket.write(answer.bytes, 'latin1');
    });
  });

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  /** What is told of the answer, and whether its connection carries another call. */
  async function ask(client: Client) {
    asked = [];
    const { heads, body, trailers, error } = await call(client, origin).over;
    // No client uses a connection again in the turn in which its answer has ended.
    for (let turns = 0; turns < 3; turns += 1) await turn();
    if (!answer.ends) await call(client, origin, { path: '/again' }).over;
    await client.destroy(new Error('over'));
    const isKept = answer.ends ? undefined : asked[0] === asked[1];
    return { heads, body, trailers, isBroken: error !== undefined, isKept };
  }

  async function compare(of: typeof answer): Promise<void> {
    answer = of;
    const expected = await ask(openUndici());
    const got = await ask(openPool(origin));
    const about = JSON.stringify(of.bytes.slice(0, 300));
    // It may see earlier that an answer is broken; then its caller gets less of it.
    if (expected.isBroken && got.isBroken) expect(got.isKept, about).toBe(expected.isKept);
    else expect(got, about).toEqual(expected);
  }

  it('makes the same of odd and broken answers', async () => {
    for (const odd of oddAnswers) await compare(odd);
  });

  it('makes the same of them with changes', async () => {
    const dice = createDice('abc123');
    for (let round = 0; round < 150; round += 1) await compare({ bytes: toOddAnswer(dice), ends: true });
  });
});

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** How much is read at once: what is sent behind so much comes with the next read. */
const READ_BYTES = 64 * 1024;

/** An answer of so many bytes, in chunks of one byte but for the last. */
function toFineAnswer(size_bytes: number): string {
  const head = `${OK.slice(0, OK.indexOf('\r\n'))}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const end = '0\r\n\r\n';
  const body_bytes = size_bytes - head.length - end.length;
  const ones = Math.floor(body_bytes / 6) - 5;
  const last_bytes = body_bytes - 6 * ones - 6;
  return `${head}${'1\r\na\r\n'.repeat(ones)}${last_bytes.toString(16)}\r\n${'b'.repeat(last_bytes)}\r\n${end}`;
}

/** An answer of so many bytes behind an informational one. */
function toHintedAnswer(size_bytes: number): string {
  const head = `HTTP/1.1 103 Early Hints\r\n\r\n${OK.slice(0, -'2\r\n\r\nok'.length)}`;
  const body_bytes = size_bytes - head.length - '00000\r\n\r\n'.length;
  return `${head}${body_bytes}\r\n\r\n${'b'.repeat(body_bytes)}`;
}

describe('the connections', () => {
  it('carry one call after the other, and are as many as there are calls at once', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    const first = call(pool, upstream.origin);
    const second = call(pool, upstream.origin);
    for (const index of [0, 1]) {
      const { socket, until } = await upstream.connection(index);
      await until(/\r\n\r\n$/);
      socket.write(OK);
    }
    await Promise.all([first.over, second.over]);
    await turn();
    const third = call(pool, upstream.origin);
    await eventually(() => upstream.connections.some(({ text }) => text.split('GET /').length === 3));
    for (const { socket } of upstream.connections) socket.write(OK);
    expect((await third.over).body).toBe('ok');
    expect(upstream.connections).toHaveLength(2);
  });

  it('are closed when they bring what nobody has asked for', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    const first = call(pool, upstream.origin);
    const { socket, until, closed } = await upstream.connection(0);
    await until(/\r\n\r\n$/);
    socket.write(OK);
    await first.over;
    socket.write(OK.replace('ok', 'no'));
    await closed;
    const second = call(pool, upstream.origin);
    const next = await upstream.connection(1);
    await next.until(/\r\n\r\n$/);
    next.socket.write(OK);
    expect((await second.over).body).toBe('ok');
  });

  it.each<[string, (socketPath: string) => Client]>([
    [
      'the plain client',
      (socketPath) => openPool('http://a', { connect: buildConnector({ socketPath, ...readTogether() }) }),
    ],
    ['undici', (socketPath) => openUndici({ socketPath })],
  ])('of %s are closed at once when more comes behind an answer that takes turns', async (_name, open) => {
    // What is written to a Unix socket can be read at once, the whole of it.
    const socketPath = join(tempDir(), 'socket');
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (request: Buffer) => {
        const first = request.includes('/fine') ? toFineAnswer(READ_BYTES) : toHintedAnswer(READ_BYTES);
        socket.write(request.includes('/again') ? OK : first + OK.replace('ok', 'no'));
      });
    });
    await once(server.listen(socketPath), 'listening');
    onTestFinished(() => void server.close());
    // Many connections bring what is cut finely: each read waits for its turn.
    let isBusy = true;
    const keepBusy = () => {
      if (isBusy) inOwnTurn(keepBusy);
    };
    onTestFinished(() => {
      isBusy = false;
    });
    for (let count = 0; count < 100; count += 1) inOwnTurn(keepBusy);
    for (const path of ['/fine', '/hinted']) {
      const client = open(socketPath);
      onTestFinished(async () => void (await client.destroy(new Error('the test is over'))));
      expect((await call(client, 'http://a', { path }).over).error).toBeUndefined();
      for (let turns = 0; turns < 10; turns += 1) await turn();
      expect((await call(client, 'http://a', { path: '/again' }).over).body, path).toBe('ok');
    }
  });

  it.each([
    ['their own time', {}, 'X: 1'],
    ['the time that the upstream tells', { keepAlive_ms: LIMIT_MS }, 'Keep-Alive: timeout=2'],
  ])('are closed after %s without a call', async (_name, more, header) => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin, { keepAlive_ms: 30, ...more });
    const { over } = call(pool, upstream.origin);
    const { socket, until, closed } = await upstream.connection(0);
    await until(/\r\n\r\n$/);
    socket.write(OK.replace('\r\n\r\n', `\r\n${header}\r\n\r\n`));
    await over;
    await closed;
  });

  it('stay open until their calls are over when the pool closes, and then take none', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    const first = call(pool, upstream.origin);
    const { socket, until, closed } = await upstream.connection(0);
    await until(/\r\n\r\n$/);
    const over = pool.close();
    expect((await call(pool, upstream.origin).over).error).toBe('UND_ERR_CLOSED');
    socket.write(OK);
    expect((await first.over).body).toBe('ok');
    await over;
    await closed;
  });

  it('end with the pool, and their calls fail with its reason', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    const failures: string[] = [];
    const watched = openPool(upstream.origin, {
      onFailure: ({ path }, { message }) => void failures.push(path + message),
    });
    const running = call(watched, upstream.origin);
    const { until, closed } = await upstream.connection(0);
    await until(/\r\n\r\n$/);
    const waiting = call(pool, upstream.origin);
    pool.destroy(new Error('moved'));
    watched.destroy(new Error('moved'));
    expect([(await running.over).error, (await waiting.over).error]).toEqual(['moved', 'moved']);
    expect(running.controller).toBeDefined();
    expect(waiting.controller).toBeUndefined();
    expect(failures).toEqual(['/moved']);
    await closed;
  });

  it('that were closed before anybody was told of it carry no call', async () => {
    const upstream = await openRawUpstream();
    const sockets: Socket[] = [];
    const connect = buildConnector({ timeout: LIMIT_MS, ...readTogether() });
    const pool = openPool(upstream.origin, {
      connect: (options, callback) =>
        connect(options, (...made) => {
          if (made[1] !== null) sockets.push(made[1]);
          callback(...made);
        }),
    });
    const first = call(pool, upstream.origin);
    const { socket, until } = await upstream.connection(0);
    await until(/\r\n\r\n$/);
    socket.write(OK);
    await first.over;
    for (let turns = 0; turns < 3; turns += 1) await turn();
    const second = call(pool, upstream.origin);
    const release = sockets.map((socket) => cutSocket(socket));
    const next = await upstream.connection(1);
    await next.until(/\r\n\r\n$/);
    next.socket.write(OK);
    expect((await second.over).body).toBe('ok');
    for (const tell of release) tell();
  });

  it('carry other calls in place of those that are given up when they are to be sent', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    const dispatch: Dispatcher['dispatch'] = (options, handler) =>
      pool.dispatch(options, {
        ...handler,
        onRequestStart: (controller) => controller.abort(new Error('enough')),
      });
    expect((await call({ dispatch }, upstream.origin).over).error).toBe('enough');
    for (let turns = 0; turns < 3; turns += 1) await turn();
    const { over } = call(pool, upstream.origin);
    await eventually(() => upstream.connections.some(({ text }) => text.endsWith('\r\n\r\n')));
    expect(upstream.connections).toHaveLength(1);
    upstream.connections[0]?.socket.write(OK);
    expect((await over).body).toBe('ok');
  });

  it('that cannot be made fail the call, which was not begun', async () => {
    const upstream = await openRawUpstream();
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.close();
    await once(server, 'close');
    const failed = call(openPool(origin), upstream.origin);
    expect((await failed.over).error).toBe('ECONNREFUSED');
    expect(failed.controller).toBeUndefined();
  });
});

describe('a call', () => {
  it('fails when the head of its answer is late, and when the body stops', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    const late = call(pool, upstream.origin, { headersTimeout: 30 });
    expect((await late.over).error).toBe('UND_ERR_HEADERS_TIMEOUT');
    const stopped = call(pool, upstream.origin, { bodyTimeout: 30 });
    const { socket, until, closed } = await upstream.connection(1);
    await until(/\r\n\r\n$/);
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok');
    expect(await stopped.over).toMatchObject({ body: 'ok', error: 'UND_ERR_BODY_TIMEOUT' });
    await closed;
  });

  it('that is given up ends its connection, at whatever moment', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    for (const [index, part] of ['', 'HTTP/1.1 20', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok'].entries()) {
      const given = call(pool, upstream.origin);
      const { socket, until, closed } = await upstream.connection(index);
      await until(/\r\n\r\n$/);
      socket.write(part);
      await eventually(() => !part.endsWith('ok') || given.told.body === 'ok');
      given.controller?.abort(new Error('enough'));
      expect((await given.over).error).toBe('enough');
      await closed;
    }
  });

  it('sends its body with its length, in one piece', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin);
    const headers = ['X-A', '1', 'Content-Length', '3'];
    const sent = call(pool, upstream.origin, { method: 'POST', path: '/a?b', headers, body: Buffer.from('abc') });
    const { socket, until, text } = await upstream.connection(0);
    await until(/abc$/);
    socket.write(OK);
    await sent.over;
    expect(text || upstream.connections[0]?.text).toBe(
      `POST /a?b HTTP/1.1\r\nhost: 127.0.0.1:${upstream.port}\r\nconnection: keep-alive\r\nX-A: 1\r\ncontent-length: 3\r\n\r\nabc`,
    );
  });

  it('that is paused stops the upstream, and loses nothing', async () => {
    const upstream = await openRawUpstream();
    const pool = openPool(upstream.origin, { bodyTimeout_ms: 0 });
    const body = Buffer.alloc(16 * 1024 * 1024);
    for (let at = 0; at < body.length; at += 1) body[at] = at % 251;
    let received = 0;
    let wrong = 0;
    let isReading = false;
    const { promise: over, resolve } = Promise.withResolvers<string>();
    let controller: Dispatcher.DispatchController | undefined;
    pool.dispatch(
      { origin: upstream.origin, path: '/', method: 'GET', headers: [], body: null },
      {
        onRequestStart: () => undefined,
        onResponseStart(given) {
          controller = given;
          given.pause();
        },
        onResponseData(given, bytes) {
          for (const byte of bytes) {
            if (byte !== received % 251) wrong += 1;
            received += 1;
          }
          // What came in the read of the head was on its way before the pause.
          if (!isReading) return;
          given.pause();
          setImmediate(() => given.resume());
        },
        onResponseEnd: () => resolve('end'),
        onResponseError: (_given, error) => resolve(error.message),
      },
    );
    const { socket, until } = await upstream.connection(0);
    await until(/\r\n\r\n$/);
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`);
    socket.write(body);
    await eventually(() => controller !== undefined);
    await sleep(50);
    expect(received).toBeLessThan(1024 * 1024);
    expect(socket.writableLength).toBeGreaterThan(0);
    isReading = true;
    controller?.resume();
    expect(await over).toBe('end');
    expect({ received, wrong }).toEqual({ received: body.length, wrong: 0 });
  });
});

it.each<[string, Partial<Dispatcher.DispatchOptions>]>([
  ['another method', { method: 'HEAD' }],
  ['CONNECT', { method: 'CONNECT' }],
  ['an upgrade', { upgrade: 'websocket' }],
  ['a body where none belongs', { body: Buffer.from('a') }],
  ['a body that is no buffer', { method: 'POST', body: 'a' }],
  ['another length', { method: 'POST', body: Buffer.from('a'), headers: ['Content-Length', '2'] }],
  ['chunks', { headers: ['Transfer-Encoding', 'chunked'] }],
  ['a host', { headers: ['Host', 'b'] }],
  ['an option of the connection', { headers: ['Connection', 'x'] }],
  ['an expectation', { headers: ['Expect', '100-continue'] }],
  ['an upgrade in its headers', { headers: ['Upgrade', 'x'] }],
  ['a name that is none', { headers: ['a b', 'x'] }],
  ['a second line in a value', { headers: ['a', 'x\r\nb: y'] }],
  ['a value of other letters', { headers: ['a', '\u0430'] }],
  ['a path with a space', { path: '/a b' }],
  ['a path with a line', { path: '/a\r\nb: c' }],
  ['no path', { path: '*' }],
])('a call with %s is not plain', (_name, more) => {
  const plain: Dispatcher.DispatchOptions = { path: '/', method: 'GET', headers: ['a', 'b'], body: null };
  expect(toPlainRequest('h', plain)).toBeDefined();
  expect(toPlainRequest('h', Object.assign(plain, more))).toBeUndefined();
});

it('may name another host among its headers, once', () => {
  const options: Dispatcher.DispatchOptions = {
    path: '/',
    method: 'GET',
    headers: ['a', 'b', 'HOST', 'c'],
    body: null,
  };
  expect(toPlainRequest('h', options, true)?.head).toBe(
    'GET / HTTP/1.1\r\nhost: c\r\nconnection: keep-alive\r\na: b\r\n\r\n',
  );
  expect(toPlainRequest('h', { ...options, headers: ['Host', 'b', 'host', 'b'] }, true)).toBeUndefined();
  expect(toPlainRequest('h', { ...options, headers: ['Host', 'b\r\nc: d'] }, true)).toBeUndefined();
});
