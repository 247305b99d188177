// What goes through the proxy to a web server in a machine and back: everything that real programs do with HTTP.

import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openProxiedMachine, SPRITE_HOST } from '../../support/proxied-machine.ts';
import { openRaw } from '../../support/raw-http.ts';

const opened = openOnce(openProxiedMachine);

const head = (path: string, more = '', method = 'GET') =>
  `${method} ${path} HTTP/1.1\r\nHost: ${SPRITE_HOST}\r\n${more}\r\n`;
const raw = (bytes: string) => openRaw(opened().proxyPort, bytes);
const headersOf = (rawHeaders: readonly string[]) =>
  Object.fromEntries(
    rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1]]] : [])),
  );

/** Undefined for a header that is not in the head; it may be there once. */
function toHeader(text: string, name: string): string | undefined {
  const found = [...text.matchAll(new RegExp(`^${name}: (.*)\r$`, 'gim'))];
  expect(found.length).toBeLessThan(2);
  return found[0]?.[1];
}

describe('names', () => {
  test('the URL of a sprite is in its record, and the addresses of its ports are URLs that work', async () => {
    const { platform, url, webPort, proxyPort, ask } = opened();
    expect(url).toBe(`http://${SPRITE_HOST}:${proxyPort}`);
    const record = (await platform.call({ path: '/v1/sprites/dev-1' })).json;
    expect(record.url).toBe(url);
    const address = await eventually(async () => {
      const { ports } = (await platform.call({ path: '/v1/sprites/dev-1/ports' })).json;
      return ports.find(({ port }: { port: number }) => port === webPort)?.address as string | undefined;
    });
    expect(address).toBe(`http://${webPort}--${SPRITE_HOST}:${proxyPort}`);
    const answer = await ask({ host: new URL(address).hostname });
    expect([answer.status, answer.text]).toEqual([200, `hello from ${webPort}`]);
  });

  test.each([
    ['another domain', 'dev-1.acme.example'],
    ['an address', '127.0.0.1'],
    ['a name too deep', `a.${SPRITE_HOST}`],
    ['the domain itself', 'localhost'],
  ])('%s is 421', async (_what, host) => {
    const answer = await opened().ask({ host });
    expect([answer.status, answer.json.error]).toEqual([421, 'unknown_host']);
  });

  test('a port where nothing listens is 502 and says what to do', async () => {
    const answer = await opened().ask({ host: `1--${SPRITE_HOST}` });
    expect([answer.status, answer.json.error]).toEqual([502, 'upstream_failed']);
    expect(answer.json.message).toContain('nothing listens');
  });

  test('a browser gets errors as a page', async () => {
    const answer = await opened().ask({ host: `1--${SPRITE_HOST}`, headers: { accept: 'text/html,*/*' } });
    expect([answer.status, answer.headers['content-type'], answer.headers['remora-error']]).toEqual([
      502,
      'text/html; charset=utf-8',
      'upstream_failed',
    ]);
    expect(answer.text).toContain('nothing listens');
  });
});

describe('headers', () => {
  test('the server sees the host as asked and who called, and nothing that only looks so', async () => {
    const { ask, proxyPort, platform } = opened();
    const { json } = await ask({
      path: '/describe?a=1&b=%2F',
      token: platform.token,
      headers: {
        'x-forwarded-for': '6.6.6.6',
        X_Forwarded_Host: 'evil',
        'x-forwarded-proto': 'https',
        forwarded: 'for=6.6.6.6',
        'x-real-ip': '6.6.6.6',
        'x-request-id': 'forged',
        'remora-generation': '1',
        Remora_Sprite: 'a',
        'fly-replay-src': 'a',
        'proxy-authorization': 'Basic a',
        'x-hop': 'dropped',
        connection: 'x-hop',
        cookie: 'a=1; remora-url=secret; __Host-remora-url=secret; b=2',
        'x-custom': 'kept',
      },
    });
    const seen = headersOf(json.rawHeaders);
    expect(json.url).toBe('/describe?a=1&b=%2F');
    expect(seen).toMatchObject({
      host: `${SPRITE_HOST}:${proxyPort}`,
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': `${SPRITE_HOST}:${proxyPort}`,
      'x-forwarded-port': String(proxyPort),
      cookie: 'a=1; b=2',
      'x-custom': 'kept',
    });
    expect(seen['x-request-id']).toMatch(/^[0-9a-f]{24}$/);
    for (const name of [
      'authorization',
      'x_forwarded_host',
      'forwarded',
      'x-real-ip',
      'remora-generation',
      'remora_sprite',
      'fly-replay-src',
      'proxy-authorization',
      'x-hop',
    ]) {
      expect([name, seen[name]]).toEqual([name, undefined]);
    }
  });

  test('an authorization that is not for the platform is passed on', async () => {
    const { json } = await opened().ask({ path: '/describe', headers: { authorization: 'Bearer of-the-app' } });
    expect(headersOf(json.rawHeaders).authorization).toBe('Bearer of-the-app');
  });

  test('an answer keeps to its own host', async () => {
    const answer = await opened().ask({ path: '/cookies' });
    expect(answer.headers['set-cookie']).toEqual(['a=1; Path=/; HttpOnly', 'b=2; path=/', 'c=3']);
    expect(answer.headers).toMatchObject({ 'x-own': 'kept' });
    for (const name of ['clear-site-data', 'alt-svc', 'remora-error', 'fly-replay'])
      expect(answer.headers[name]).toBeUndefined();
  });

  test('more headers than may be are 431, and two hosts or none 400', async () => {
    const bomb = await opened().ask({ headers: { 'x-bomb': 'b'.repeat(40_000) } });
    expect([bomb.status, bomb.json.error]).toEqual([431, 'headers_too_large']);
    expect(await raw(head('/', 'Host: b\r\nConnection: close\r\n')).ended).toMatch(/^HTTP\/1\.1 400 /);
    expect(await raw('GET / HTTP/1.1\r\nConnection: close\r\n\r\n').ended).toMatch(/^HTTP\/1\.1 400 /);
    expect(await raw('GET / HTTP/1.0\r\n\r\n').ended).toMatch(/^HTTP\/1\.1 421 /);
  });
});

describe('bodies', () => {
  test.each([
    ['with a length', {}],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
    ['that is asked for first', { expect: '100-continue' }],
  ])('a body %s arrives whole', async (_what, headers) => {
    for (const size of [1, 70_000, 3_000_000]) {
      const { json } = await opened().ask({
        path: '/describe',
        method: 'POST',
        body: Buffer.alloc(size, 'b'),
        headers,
      });
      expect([json.method, json.bytes]).toEqual(['POST', size]);
    }
  });

  test('trailers pass both ways, and nothing among them that is the proxy’s to say', async () => {
    const { proxyPort, ask } = opened();
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const call = request({
      host: '127.0.0.1',
      port: proxyPort,
      path: '/describe?trailed',
      method: 'POST',
      headers: { host: SPRITE_HOST, trailer: 'x-sum', 'transfer-encoding': 'chunked' },
    });
    call.once('error', reject).once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('end', () => resolve(text));
    });
    call.write('a body');
    // The request is on its way when they come.
    await eventually(async () => (await ask({ path: '/arrivals' })).text.includes('/describe?trailed'));
    call.addTrailers({ 'x-sum': 'abc', 'remora-forged': '1', 'x-forwarded-for': '6.6.6.6' });
    call.end();
    expect(JSON.parse(await promise)).toMatchObject({ bytes: 6, rawTrailers: ['x-sum', 'abc'] });
    const answer = await ask({ path: '/trailers' });
    expect([answer.text, answer.trailers]).toEqual(['body', { 'x-sum': 'abc' }]);
  });

  test('early hints, ranges, HEAD and an empty answer pass', async () => {
    const hinted = await raw(head('/hints', 'Connection: close\r\n')).ended;
    expect(hinted).toMatch(/^HTTP\/1\.1 103 .*link: <\/style.css>.*HTTP\/1\.1 200 OK.*hinted/is);
    const part = await opened().ask({ path: '/range', headers: { range: 'bytes=2-4' } });
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, '234', 'bytes 2-4/10']);
    const headed = await opened().ask({ path: '/bytes?size=1000', method: 'HEAD' });
    expect([headed.status, headed.headers['content-length'], headed.text]).toEqual([200, '1000', '']);
  });

  test('an answer that comes before the body was sent reaches the caller', async () => {
    const caller = raw(head('/early', 'Content-Length: 100000000\r\n', 'POST'));
    expect(await caller.until(/403 .*\r\nno\r\n0\r\n\r\n$/s)).toMatch(/^HTTP\/1\.1 403 /);
  });

  test.each(['GET', 'POST'])('a %s that expects a 100 and has no body is answered', async (method) => {
    const given = method === 'GET' ? '' : 'Content-Length: 0\r\n';
    const caller = raw(head('/', `Expect: 100-continue\r\n${given}Connection: close\r\n`, method));
    expect(await caller.ended).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('a body and its answer stream at once', async () => {
    const caller = raw(head('/echo', 'Transfer-Encoding: chunked\r\n', 'POST'));
    await caller.until(/^HTTP\/1\.1 200 /);
    for (const text of ['one', 'two']) {
      caller.socket.write(`3\r\n${text}\r\n`);
      await caller.until(new RegExp(text));
    }
    caller.socket.write('0\r\n\r\n');
    await caller.until(/\r\n0\r\n\r\n$/);
  });

  test('who ends its side after the request gets the whole answer', async () => {
    const { proxyPort } = opened();
    const socket = connect({ host: '127.0.0.1', port: proxyPort, allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.end(head('/slow?ms=150'));
    let text = '';
    for await (const part of socket) text += String(part);
    expect(text).toMatch(/^HTTP\/1\.1 200 OK.*late/s);
  });

  test('an answer that breaks off in the machine breaks off for the caller', async () => {
    const caller = raw(head('/break'));
    await caller.until(/part$/);
    await opened().ask({ path: '/break-now' });
    const text = await caller.ended;
    expect(text).toMatch(/content-length: 100\r\n/i);
    expect(text.endsWith('part')).toBe(true);
  });

  test.each(['GET', 'POST'])(
    'an answer to a %s whose connection is reset in place of its end breaks off too',
    async (method) => {
      const more = method === 'POST' ? 'Transfer-Encoding: chunked\r\n' : '';
      const caller = raw(`${head('/reset', more, method)}${method === 'POST' ? '0\r\n\r\n' : ''}`);
      await caller.until(/part/);
      await opened().ask({ path: '/break-now' });
      expect(await caller.ended).toMatch(/part\r\n$/);
    },
  );

  test('requests follow each other on one connection', async () => {
    const caller = raw(head('/describe?n=1') + head('/describe?n=2'));
    await caller.until(/n=1.*n=2/s);
    caller.socket.write(head('/describe?n=3', 'Connection: close\r\n'));
    expect(await caller.ended).toMatch(/n=1.*n=2.*n=3/s);
  });

  test.each([
    ['/events', 'no'],
    ['/bytes?size=10&chunked', 'no'],
    ['/bytes?size=10', undefined],
    ['/held?value=yes', 'yes'],
  ])('%s tells servers in between whether they may hold it back: %s', async (path, said) => {
    const caller = raw(head(path));
    const text = await caller.until(/\r\n\r\n/);
    caller.socket.destroy();
    expect(toHeader(text, 'x-accel-buffering')).toBe(said);
  });

  test('events arrive one by one, and end in the machine when the caller goes', async () => {
    const caller = raw(head('/events'));
    await caller.until(/data: 1\n.*data: 3\n/s);
    const openEvents = async () => JSON.parse((await opened().ask({ path: '/arrivals' })).text).open.events;
    expect(await openEvents()).toBe(1);
    caller.socket.destroy();
    await eventually(async () => (await openEvents()) === 0);
  });
});

describe('WebSockets', () => {
  const open = (path: string, headers: Record<string, string> = {}) => {
    const { proxyPort } = opened();
    const socket = new WebSocket(`ws://127.0.0.1:${proxyPort}${path}`, ['chat'], {
      headers: { host: SPRITE_HOST, ...headers },
    });
    onTestFinished(() => socket.on('error', () => undefined).terminate());
    return socket;
  };

  test('messages of both kinds and sizes pass, and the close does', async () => {
    const socket = open('/socket?a=1');
    const heard: Buffer[] = [];
    socket.on('message', (data: Buffer) => heard.push(data));
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
    expect(socket.protocol).toBe('chat');
    socket.send('text');
    socket.send(Buffer.alloc(1_000_000, 'b'));
    await eventually(() => heard.length === 2);
    expect(heard.map((data) => data.length)).toEqual([4, 1_000_000]);
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.close(4_001, 'bye');
    expect(await closed).toBe(4_001);
  });

  test('what the server answers in place of the switch reaches the caller', async () => {
    const socket = open('/refused');
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    socket.once('unexpected-response', (_request, response) => resolve(response.statusCode));
    socket.once('open', () => reject(new Error('it was switched')));
    expect(await promise).toBe(401);
  });
});
