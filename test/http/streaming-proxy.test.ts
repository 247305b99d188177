import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Agent, type Dispatcher } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAnswerGuard } from '../../src/core/gateway/answer-guard.ts';
import { GatewayHeaders } from '../../src/core/gateway/gateway-headers.ts';
import { RemoraError } from '../../src/core/remora-error.ts';
import { Secret } from '../../src/core/secret.ts';
import type { ExchangeOutcome } from '../../src/http/exchange-outcome.ts';
import type { ExchangeUpstream } from '../../src/http/exchange-upstream.ts';
import type { HeaderPolicy } from '../../src/http/header-policy.ts';
import { sendError } from '../../src/http/reply.ts';
import { streamExchange } from '../../src/http/streaming-proxy.ts';
import { eventually } from '../support/eventually.ts';
import { openFullListener } from '../support/full-listener.ts';
import { openRaw } from '../support/raw-http.ts';
import { openRawUpstream } from '../support/raw-upstream.ts';
import { tempDir } from '../support/temp-dir.ts';

interface Proxy {
  readonly path: string;
  /** The outcome or the error of each exchange, in the order of their ends. */
  next(): Promise<ExchangeOutcome | RemoraError>;
}

const guard = createAnswerGuard(new Secret('hunter2'));
const headers = new GatewayHeaders({ from: 'provider', injected: [], guard });

async function openProxy(origin: string, more: Partial<ExchangeUpstream> = {}): Promise<Proxy> {
  const path = join(tempDir(), 's');
  const dispatcher = new Agent({ keepAliveTimeout: 10_000, connect: { timeout: 2_000 } });
  const ends: (ExchangeOutcome | RemoraError)[] = [];
  const waiting: ((end: ExchangeOutcome | RemoraError) => void)[] = [];
  const push = (end: ExchangeOutcome | RemoraError) => {
    const first = waiting.shift();
    if (first === undefined) ends.push(end);
    else first(end);
  };
  const server = createServer((request, response) => {
    const upstream = {
      dispatcher: () => dispatcher,
      origin,
      path: request.url ?? '',
      headers,
      from: 'provider' as const,
      ...more,
    };
    streamExchange(request, response, upstream).then(push, (error: unknown) => {
      sendError(response, error);
      push(error instanceof RemoraError ? error : new RemoraError('internal', String(error)));
    });
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await dispatcher.destroy();
  });
  return {
    path,
    next: () => {
      const first = ends.shift();
      return first === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(first);
    },
  };
}

const get = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n';
const wholeInChunks = 'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n';
const codeOf = (end: ExchangeOutcome | RemoraError) => (end instanceof RemoraError ? end.code : end.ended);

describe('what the upstream receives', () => {
  it('is the target and the headers byte for byte, with hygiene', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const target = "/a%2Fb//c;d=%7B%7d/[x]'|?q=%zz&r=<>";
    openRaw(proxy.path, `GET ${target} HTTP/1.1\r\nHost: a\r\nX-Uni: ok\r\nAccept:  */*\r\n\r\n`);
    const text = await (await upstream.connection(0)).until(/\r\n\r\n$/);
    expect(text).toBe(
      `GET ${target} HTTP/1.1\r\nhost: 127.0.0.1:${upstream.port}\r\nconnection: keep-alive\r\nX-Uni: ok\r\nAccept: */*\r\n\r\n`,
    );
  });

  it('is a small body in one piece, with its length', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc');
    await new Promise((resolve) => setImmediate(resolve));
    caller.socket.write('def');
    const connection = await upstream.connection(0);
    expect(await connection.until(/abcdef$/)).toContain('content-length: 6\r\n\r\nabcdef');
    connection.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    await caller.until(/ok$/);
    expect(await proxy.next()).toEqual({ ended: 'complete', status: 200, request_bytes: 6, response_bytes: 2 });
  });

  it('is a chunked body as it comes, before it is complete', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    const connection = await upstream.connection(0);
    expect(await connection.until(/abc/)).toContain('transfer-encoding: chunked\r\n');
    caller.socket.write('3\r\ndef\r\n0\r\n\r\n');
    await connection.until(/def\r\n0\r\n\r\n$/);
    connection.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    expect(await proxy.next()).toMatchObject({ ended: 'complete', request_bytes: 6 });
  });
});

describe('what the caller receives', () => {
  it('is the status line, the headers and the body, with hygiene', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write(
      'HTTP/1.1 429 Slow Down Please\r\nDate: then\r\nRetry-After: 7\r\nX-N: \xe9\r\nSet-Cookie: a=b\r\nremora-error: endpoint_blocked\r\nLink: 1\r\nLink: 2\r\nContent-Length: 4\r\n\r\nbusy',
      'latin1',
    );
    const text = await caller.until(/busy$/);
    expect(text).toBe(
      'HTTP/1.1 429 Slow Down Please\r\nDate: then\r\nRetry-After: 7\r\nX-N: \xe9\r\nLink: 1\r\nLink: 2\r\nContent-Length: 4\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nbusy',
    );
  });

  it('is each event at the moment it was sent, headers first', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'GET /sse HTTP/1.1\r\nHost: a\r\nAccept: text/event-stream\r\n\r\n');
    const connection = await upstream.connection(0);
    expect(await connection.until(/\r\n\r\n$/)).toContain('Accept: text/event-stream\r\n');
    connection.socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
    await caller.until(/\r\n\r\n$/);
    for (const event of ['data: 1\n\n', 'data: 2\n\n', ': ping\n\n']) {
      connection.socket.write(`${event.length.toString(16)}\r\n${event}\r\n`);
      await caller.until(new RegExp(event));
    }
    connection.socket.write('0\r\n\r\n');
    expect(await caller.until(/0\r\n\r\n$/)).toContain('9\r\ndata: 2\n\n\r\n');
  });

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n', /Content-Length: 99\r\n.*\r\n\r\n$/s],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n', /^HTTP\/1.1 204 No Content\r\n(?!.*Transfer-Encoding).*\r\n\r\n$/s],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', /^HTTP\/1.1 304 .*ETag: "a".*\r\n\r\n$/s],
  ])('is no body for %s answered with %j', async (method, answer, expected) => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, `${method} /x HTTP/1.1\r\nHost: a\r\n\r\n`);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write(answer);
    expect(await proxy.next()).toMatchObject({ ended: 'complete', response_bytes: 0 });
    expect(await caller.until(expected)).toBe(caller.text);
  });

  it('has the headers that a policy of the user lets pass, in every part of an answer', async () => {
    const upstream = await openRawUpstream();
    const seen: (readonly string[])[] = [];
    const policy: HeaderPolicy = {
      request: () => ['X-Only', 'this'],
      response(flat) {
        seen.push(flat);
        return ['X-Part', String(seen.length)];
      },
      mayShow: (phrase) => phrase !== 'Secret Word',
    };
    const proxy = await openProxy(upstream.origin, { headers: policy });
    const caller = openRaw(proxy.path, 'GET /x HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nX-Own: 1\r\n\r\n');
    const connection = await upstream.connection(0);
    expect(await connection.until(/\r\n\r\n$/)).toMatch(/^GET .*keep-alive\r\nX-Only: this\r\n\r\n$/s);
    connection.socket.write('HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n');
    connection.socket.write('HTTP/1.1 200 Secret Word\r\nTransfer-Encoding: chunked\r\nX-Gone: 1\r\n\r\n');
    connection.socket.write('2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n');
    const text = await caller.until(/X-Part: 3\r\n\r\n$/);
    expect(text).toMatch(/^HTTP\/1.1 103 Early Hints\r\nX-Part: 1\r\n\r\nHTTP\/1.1 200 OK\r\nX-Part: 2\r\n/);
    expect(text).not.toMatch(/Secret|Link|X-Gone|X-Sum/);
    expect(seen.map((flat) => flat.at(-1))).toEqual(['x', '1', '1']);
  });

  it('has early hints and trailers, with hygiene', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nSet-Cookie: a\r\n\r\n');
    expect(await caller.until(/\r\n\r\n$/)).toBe('HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n');
    connection.socket.write(
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 1\r\nSet-Cookie: a\r\n\r\n',
    );
    const text = await caller.until(/0\r\nX-Sum: 1\r\n\r\n$/);
    expect(text).toMatch(/\r\n\r\nHTTP\/1.1 200 OK\r\n/);
    expect(text).not.toContain('Set-Cookie');
  });

  it('has no early hints when it speaks HTTP/1.0', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'GET /x HTTP/1.0\r\nHost: a\r\n\r\n');
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write(
      'HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    );
    expect(await caller.ended).toMatch(/^HTTP\/1.1 200 OK\r\n.*ok$/s);
  });

  it('is a compressed body as it is', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'GET /x HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n');
    const connection = await upstream.connection(0);
    expect(await connection.until(/\r\n\r\n$/)).toContain('Accept-Encoding: gzip\r\n');
    const packed = gzipSync('packed');
    connection.socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`);
    connection.socket.write(packed);
    expect(await proxy.next()).toMatchObject({ ended: 'complete', response_bytes: packed.length });
    await eventually(() => caller.text.endsWith(packed.toString('latin1')));
    expect(caller.text).toContain('Content-Encoding: gzip\r\n');
  });

  it('comes before the request body is complete, and the connection serves on', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    const connection = await upstream.connection(0);
    await connection.until(/abc/);
    connection.socket.write('HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno');
    await caller.until(/no$/);
    expect(await proxy.next()).toMatchObject({ ended: 'complete', status: 400 });
    caller.socket.write(`3\r\ndef\r\n0\r\n\r\n${get}`);
    const second = await upstream.connection(1);
    await second.until(/GET \/x/);
    second.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes');
    await caller.until(/yes$/);
  });
});

describe('the rest of a body that the upstream did not want', () => {
  it('is read and dropped, so that the connection serves on', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin, { bodyCap_bytes: 128 * 1024 * 1024 });
    const body = Buffer.alloc(64 * 1024 * 1024, 'a');
    const caller = openRaw(proxy.path, `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n`);
    const sent = new Promise((resolve) => caller.socket.write(body, resolve));
    const connection = await upstream.connection(0);
    connection.socket.pause();
    const blocked = new Promise((resolve) => setTimeout(resolve, 300, 'blocked'));
    expect(await Promise.race([sent, blocked])).toBe('blocked');
    connection.socket.write('HTTP/1.1 400 No\r\nContent-Length: 2\r\n\r\nno');
    await caller.until(/no$/);
    caller.socket.write(get);
    const second = await upstream.connection(1);
    await second.until(/GET \/x/);
    second.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes');
    await caller.until(/yes$/);
  });
});

describe('a caller that goes away', () => {
  it('before the first byte ends the upstream call', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    caller.socket.destroy();
    await connection.closed;
    expect(await proxy.next()).toEqual({
      ended: 'caller_gone',
      status: undefined,
      request_bytes: 0,
      response_bytes: 0,
    });
  });

  it('in the middle of the answer ends the upstream call', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart');
    await caller.until(/part$/);
    caller.socket.destroy();
    await connection.closed;
    expect(await proxy.next()).toMatchObject({ ended: 'caller_gone', status: 200, response_bytes: 4 });
  });

  it('in the middle of its own body ends the upstream call', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    const connection = await upstream.connection(0);
    await connection.until(/abc/);
    caller.socket.destroy();
    await connection.closed;
    expect(connection.text).not.toMatch(/0\r\n\r\n$/);
    expect(await proxy.next()).toMatchObject({ ended: 'caller_gone', request_bytes: 3 });
  });

  it('in the middle of a small body opens no upstream call', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc');
    await new Promise((resolve) => caller.socket.once('connect', resolve));
    caller.socket.end();
    expect(await proxy.next()).toMatchObject({ ended: 'caller_gone' });
    expect(upstream.connections).toHaveLength(0);
  });

  it('while the upstream is dialled ends its body, also when that has come whole', async () => {
    const dialled = Promise.withResolvers<unknown>();
    const dispatch = ({ body }: Dispatcher.DispatchOptions) => {
      dialled.resolve(body);
      return true;
    };
    const proxy = await openProxy('http://provider', { dispatcher: () => ({ dispatch }) });
    const caller = openRaw(proxy.path, wholeInChunks);
    const body = await dialled.promise;
    await new Promise((resolve) => setImmediate(resolve));
    expect(body).toMatchObject({ destroyed: false });
    caller.socket.destroy();
    expect(await proxy.next()).toMatchObject({ ended: 'caller_gone', request_bytes: 0 });
    expect(body).toMatchObject({ destroyed: true });
  });
});

describe('an upstream that breaks off', () => {
  it.each([
    ['a known length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart'],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n'],
    ['the middle of a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\npart'],
  ])('in a body of %s breaks off the answer', async (_name, answer) => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write(answer);
    await caller.until(/part/);
    connection.socket.destroy();
    const text = await caller.ended;
    expect(text).not.toMatch(/0\r\n\r\n$/);
    expect(text).not.toMatch(/Content-Length: 4\r/);
    expect(await proxy.next()).toMatchObject({ ended: 'upstream_broke', status: 200, response_bytes: 4 });
  });

  it('before its answer is a 502 with our marker, and is not tried again', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na');
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\na$/);
    connection.socket.destroy();
    const text = await caller.until(/\}\n$/);
    expect(text).toMatch(/^HTTP\/1.1 502 /);
    expect(text).toContain('remora-error: upstream_failed\r\n');
    expect(codeOf(await proxy.next())).toBe('upstream_failed');
    expect(upstream.connections).toHaveLength(1);
  });

  it('before its answer to one that only reads is tried once more, and never a third time', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    for (const index of [0, 1]) {
      const connection = await upstream.connection(index);
      await connection.until(/\r\n\r\n$/);
      connection.socket.destroy();
    }
    expect(codeOf(await proxy.next())).toBe('upstream_failed');
    expect(await caller.until(/\}\n$/)).toMatch(/^HTTP\/1.1 502 /);
    expect(upstream.connections).toHaveLength(2);
  });

  it('after its first byte is not tried again', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.end('HTTP/1.1 200 OK\r\n');
    expect(codeOf(await proxy.next())).toBe('upstream_failed');
    expect(upstream.connections).toHaveLength(1);
  });

  it('by silence in the middle of its answer is broken off after the idle limit', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin, { idleTimeout_ms: 1_000 });
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart');
    expect(await proxy.next()).toMatchObject({ ended: 'upstream_broke', response_bytes: 4 });
    expect(await caller.ended).toMatch(/part$/);
  });

  it('speaks nonsense: 502', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write('SMTP ready\r\n\r\n');
    expect(codeOf(await proxy.next())).toBe('upstream_failed');
  });

  it('is not there: 502', async () => {
    const proxy = await openProxy('http://127.0.0.1:1');
    openRaw(proxy.path, get);
    expect(codeOf(await proxy.next())).toBe('upstream_failed');
  });

  it('is not there, and may not be asked again: the body that was opened for it ends', async () => {
    const bodies: unknown[] = [];
    const dispatch = ({ body }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
      bodies.push(body);
      const error = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' });
      handler.onResponseError?.(null as never, error);
      return true;
    };
    const proxy = await openProxy('http://provider', {
      dispatcher: () => ({ dispatch }),
      headersOfSecondTry: () => Promise.reject(new RemoraError('forbidden', 'no more')),
    });
    const caller = openRaw(proxy.path, wholeInChunks);
    expect(codeOf(await proxy.next())).toBe('forbidden');
    expect(bodies).toMatchObject([{ destroyed: true }]);
    expect(await caller.until(/\}\n$/)).toMatch(/^HTTP\/1.1 403 /);
  });

  it('takes no connection: 504 after the limit on connecting, and is not tried again', async () => {
    const origin = await openFullListener();
    const proxy = await openProxy(origin);
    let tries = 0;
    const count = () => {
      tries += 1;
    };
    subscribe('undici:client:beforeConnect', count);
    onTestFinished(() => void unsubscribe('undici:client:beforeConnect', count));
    const caller = openRaw(proxy.path, get);
    expect(codeOf(await proxy.next())).toBe('upstream_timeout');
    expect(tries).toBe(1);
    expect(await caller.until(/\}\n$/)).toMatch(/^HTTP\/1.1 504 .*could not be reached in time/s);
  });

  it('never answers: 504', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin, { headersTimeout_ms: 100 });
    const caller = openRaw(proxy.path, get);
    expect(codeOf(await proxy.next())).toBe('upstream_timeout');
    expect(await caller.until(/\}\n$/)).toMatch(/^HTTP\/1.1 504 /);
  });
});

describe('a kept-alive connection that died', () => {
  async function withStaleConnection(second: string) {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    const first = await upstream.connection(0);
    await first.until(/\r\n\r\n$/);
    first.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none');
    await caller.until(/one$/);
    await proxy.next();
    caller.socket.write(second);
    await first.until(/HTTP\/1.1.*HTTP\/1.1.*\r\n\r\n/s);
    first.socket.end();
    return { upstream, proxy, caller };
  }

  it('is replaced for a request that only reads', async () => {
    const { upstream, proxy, caller } = await withStaleConnection(get);
    const connection = await upstream.connection(1);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntwo');
    await caller.until(/two$/);
    expect(await proxy.next()).toMatchObject({ ended: 'complete' });
  });

  it('is a 502 for one that may have been carried out', async () => {
    const { upstream, proxy } = await withStaleConnection('POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na');
    expect(codeOf(await proxy.next())).toBe('upstream_failed');
    expect(upstream.connections).toHaveLength(1);
  });
});

describe('the cap on bodies', () => {
  it('refuses a declared length at once', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin, { bodyCap_bytes: 10 });
    const caller = openRaw(proxy.path, 'POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n');
    expect(await caller.until(/\}\n$/)).toMatch(/^HTTP\/1.1 413 .*remora-error: payload_too_large/s);
    expect(upstream.connections).toHaveLength(0);
  });

  it('is counted on a chunked body, which never arrives whole', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin, { bodyCap_bytes: 10 });
    const caller = openRaw(
      proxy.path,
      'POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n',
    );
    const connection = await upstream.connection(0);
    await connection.until(/abcdef/);
    caller.socket.write('6\r\nghijkl\r\n0\r\n\r\n');
    expect(await caller.ended).toMatch(/^HTTP\/1.1 413 /);
    await connection.closed;
    expect(connection.text).not.toContain('ghijkl');
  });
});

describe('back-pressure', () => {
  it('stops the upstream when the caller does not read', async () => {
    const upstream = await openRawUpstream();
    const proxy = await openProxy(upstream.origin);
    const caller = openRaw(proxy.path, get);
    caller.socket.pause();
    const { socket, until } = await upstream.connection(0);
    await until(/\r\n\r\n$/);
    const total_bytes = 256 * 1024 * 1024;
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total_bytes}\r\n\r\n`);
    const chunk = Buffer.alloc(1024 * 1024);
    let written_bytes = 0;
    while (written_bytes < total_bytes) {
      written_bytes += chunk.length;
      if (socket.write(chunk)) continue;
      const drained = await Promise.race([
        new Promise((resolve) => socket.once('drain', () => resolve(true))),
        new Promise((resolve) => setTimeout(() => resolve(false), 1_000)),
      ]);
      if (drained === false) break;
    }
    expect(written_bytes).toBeLessThan(64 * 1024 * 1024);
    caller.socket.removeAllListeners('data');
    let received_bytes = 0;
    caller.socket.on('data', (data: Buffer) => {
      received_bytes += data.length;
    });
    caller.socket.resume();
    while (written_bytes < total_bytes) {
      written_bytes += chunk.length;
      if (!socket.write(chunk)) await new Promise((resolve) => socket.once('drain', resolve));
    }
    expect(await proxy.next()).toMatchObject({ ended: 'complete', response_bytes: total_bytes });
    expect(received_bytes).toBeGreaterThan(0);
  });

  it('stops the caller when the upstream does not read', async () => {
    const upstream = await openRawUpstream();
    const total_bytes = 256 * 1024 * 1024;
    const proxy = await openProxy(upstream.origin, { bodyCap_bytes: total_bytes });
    const { socket } = openRaw(proxy.path, `POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: ${total_bytes}\r\n\r\n`);
    const chunk = Buffer.alloc(1024 * 1024);
    let written_bytes = 0;
    (await upstream.connection(0)).socket.pause();
    while (written_bytes < total_bytes) {
      written_bytes += chunk.length;
      if (socket.write(chunk)) continue;
      const drained = await Promise.race([
        new Promise((resolve) => socket.once('drain', () => resolve(true))),
        new Promise((resolve) => setTimeout(() => resolve(false), 1_000)),
      ]);
      if (drained === false) break;
    }
    expect(written_bytes).toBeLessThan(64 * 1024 * 1024);
  });
});

describe('a signal', () => {
  it('throws its reason before the answer has begun', async () => {
    const upstream = await openRawUpstream();
    const cut = new AbortController();
    const proxy = await openProxy(upstream.origin, { signal: cut.signal });
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    cut.abort(new RemoraError('endpoint_blocked', 'the policy changed'));
    expect(await caller.until(/\}\n$/)).toMatch(/^HTTP\/1.1 403 .*the policy changed/s);
    await connection.closed;
    expect(codeOf(await proxy.next())).toBe('endpoint_blocked');
  });

  it('breaks both connections off afterwards', async () => {
    const upstream = await openRawUpstream();
    const cut = new AbortController();
    const proxy = await openProxy(upstream.origin, { signal: cut.signal });
    const caller = openRaw(proxy.path, get);
    const connection = await upstream.connection(0);
    await connection.until(/\r\n\r\n$/);
    connection.socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n');
    await caller.until(/part/);
    cut.abort(new RemoraError('endpoint_blocked', 'the policy changed'));
    await connection.closed;
    expect(await caller.ended).not.toMatch(/0\r\n\r\n$/);
    expect(await proxy.next()).toMatchObject({ ended: 'cut', status: 200 });
  });
});
