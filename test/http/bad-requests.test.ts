// The errors that a caller can make, and the one shape of the answers to them.
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { errorBody } from '../../src/contract/errors.ts';
import { defineOperation } from '../../src/contract/operation.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { ask, type Question } from '../support/ask.ts';
import { openRaw } from '../support/raw-http.ts';
import { serveEdge } from '../support/serve-edge.ts';
import { tempDir } from '../support/temp-dir.ts';

const shared = { summary: '', source: '', tag: 'test', errors: [] } as const;
const json = { kind: 'json', status: 200, schema: z.unknown() } as const;
const operations = {
  read: defineOperation({ ...shared, method: 'GET', path: '/v1/things', answer: json }),
  search: defineOperation({
    ...shared,
    method: 'GET',
    path: '/v1/search',
    query: z.object({ q: z.string().optional(), limit: z.coerce.number().int().min(1).optional() }),
    answer: json,
  }),
  put: defineOperation({
    ...shared,
    method: 'PUT',
    path: '/v1/things/{name}',
    params: z.object({ name: z.string().regex(/^[\w.-]+$/) }),
    body: z.object({ size: z.int(), labels: z.record(z.string(), z.string()).optional() }),
    answer: json,
  }),
  form: defineOperation({
    ...shared,
    method: 'POST',
    path: '/v1/form',
    body: z.object({ grant: z.string() }),
    bodyType: 'form',
    answer: json,
  }),
  remove: defineOperation({
    ...shared,
    method: 'DELETE',
    path: '/v1/things/{name}',
    answer: { kind: 'empty', status: 204 },
  }),
  rest: defineOperation({ ...shared, method: '*', path: '/v1/raw/{path...}', answer: { kind: 'raw' } }),
};

const serve = () =>
  serveEdge(operations, {
    read: () => ({ things: [] }),
    search: ({ query }) => ({ query, keys: Object.keys(query) }),
    put: ({ params, body }) => ({ params, body }),
    form: ({ body }) => body,
    remove: () => undefined,
    rest: ({ request }, response) => {
      response.end(`raw ${request.method} ${request.url}`);
    },
  });

const asJson = { 'content-type': 'application/json' };

describe('a request that fits no operation or not its operation', () => {
  test.each([
    ['an unknown path', { target: '/v1/nothing' }, 404, 'not_found'],
    ['an empty segment', { target: '/v1//things' }, 404, 'not_found'],
    ['a dot segment', { target: '/v1/./things' }, 404, 'not_found'],
    ['another case', { target: '/V1/things' }, 404, 'not_found'],
    ['an escaped letter', { target: '/v1/%74hings' }, 404, 'not_found'],
    ['/__proto__', { target: '/__proto__' }, 404, 'not_found'],
    ['/constructor', { target: '/constructor' }, 404, 'not_found'],
    ['a broken escape in the path', { method: 'DELETE', target: '/v1/things/%zz' }, 400, 'invalid_target'],
    ['half a character in the path', { method: 'DELETE', target: '/v1/things/%c3' }, 400, 'invalid_target'],
    ['a broken escape in the query', { target: '/v1/search?q=%zz' }, 400, 'invalid_request'],
    ['a broken escape in a query name', { target: '/v1/search?%f=1' }, 400, 'invalid_request'],
    ['a repeated query name', { target: '/v1/search?q=a&limit=1&q=b' }, 400, 'invalid_request'],
    ['a repeated query name, one escaped', { target: '/v1/search?q=a&%71=b' }, 400, 'invalid_request'],
    ['a query value of the wrong type', { target: '/v1/search?limit=many' }, 400, 'invalid_request'],
    ['a long target', { target: `/v1/search?q=${'a'.repeat(8_192)}` }, 414, 'target_too_long'],
    ['a target longer than all headers may be', { target: `/v1/${'a'.repeat(100_000)}` }, 414, 'target_too_long'],
    ['headers without end', { target: '/v1/things', headers: { a: 'b'.repeat(40_000) } }, 431, 'headers_too_large'],
    ['no body', { method: 'PUT', target: '/v1/things/a' }, 400, 'invalid_request'],
    ['an unmet expectation', { target: '/v1/things', headers: { expect: 'tea' } }, 417, 'expectation_failed'],
    [
      'broken JSON',
      { method: 'PUT', target: '/v1/things/a', headers: asJson, body: '{"size":' },
      400,
      'invalid_request',
    ],
    [
      'JSON that is not UTF-8',
      { method: 'PUT', target: '/v1/things/a', headers: asJson, body: Buffer.from([0x22, 0xff, 0x22]) },
      400,
      'invalid_request',
    ],
    ['no content type', { method: 'PUT', target: '/v1/things/a', body: '{"size":1}' }, 415, 'unsupported_media_type'],
    [
      'a form where JSON is wanted',
      {
        method: 'PUT',
        target: '/v1/things/a',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'size=1',
      },
      415,
      'unsupported_media_type',
    ],
    [
      'JSON where a form is wanted',
      { method: 'POST', target: '/v1/form', headers: asJson, body: '{}' },
      415,
      'unsupported_media_type',
    ],
    [
      'a form with a repeated name',
      {
        method: 'POST',
        target: '/v1/form',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant=a&grant=b',
      },
      400,
      'invalid_request',
    ],
  ] as readonly [string, Question, number, string][])(
    '%s is answered in the one shape',
    async (_name, question, status, code) => {
      const { path } = await serve();
      const answer = await ask(path, question);
      expect(answer.status).toBe(status);
      expect(answer.headers['content-type']).toBe('application/json');
      expect(errorBody.parse(answer.json).error).toBe(code);
    },
  );

  test('405 names the methods, HEAD among them where GET is', async () => {
    const { path } = await serve();
    const reading = await ask(path, { method: 'POST', target: '/v1/things' });
    expect([reading.status, reading.headers.allow]).toEqual([405, 'GET, HEAD']);
    const writing = await ask(path, { method: 'GET', target: '/v1/things/a' });
    expect([writing.status, writing.headers.allow]).toEqual([405, 'PUT, DELETE']);
    for (const method of ['TRACE', 'OPTIONS', 'PATCH', 'PROPFIND'])
      expect((await ask(path, { method, target: '/v1/things' })).status).toBe(405);
  });

  test('HEAD is GET without the body', async () => {
    const { path } = await serve();
    const got = await ask(path, { target: '/v1/things' });
    const head = await ask(path, { method: 'HEAD', target: '/v1/things' });
    expect([head.status, head.headers['content-length'], head.text]).toEqual([200, got.headers['content-length'], '']);
  });

  test('every failing field is named', async () => {
    const { path } = await serve();
    const answer = await ask(path, {
      method: 'PUT',
      target: '/v1/things/a',
      headers: asJson,
      body: '{"size":"big","labels":{"a":1}}',
    });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({
      error: 'invalid_request',
      details: { fields: [{ field: 'body.size' }, { field: 'body.labels.a' }] },
    });
    const name = await ask(path, { method: 'PUT', target: '/v1/things/a%2Fb', headers: asJson, body: '{"size":1}' });
    expect(name.json).toMatchObject({ details: { fields: [{ field: 'path.name' }] } });
  });

  test('curl -d without a header is told which header to send', async () => {
    const { path } = await serve();
    const answer = await ask(path, {
      method: 'PUT',
      target: '/v1/things/a',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: '{"size":1}',
    });
    expect(answer.status).toBe(415);
    expect(answer.json).toMatchObject({ message: expect.stringContaining("-H 'content-type: application/json'") });
  });

  test('the raw operation gets every method and the path as it was sent', async () => {
    const { path } = await serve();
    const answer = await ask(path, { method: 'PATCH', target: '/v1/raw//a/%2e%2E/b?x=%zz&x=1' });
    expect(answer.text).toBe('raw PATCH /v1/raw//a/%2e%2E/b?x=%zz&x=1');
  });
});

describe('names that mean something to JavaScript', () => {
  test('__proto__ in body, query and path is harmless', async () => {
    const { path } = await serve();
    const body = '{"size":1,"__proto__":{"polluted":true},"labels":{"__proto__":"x","constructor":"y"}}';
    const put = await ask(path, { method: 'PUT', target: '/v1/things/__proto__', headers: asJson, body });
    expect(put.status).toBe(200);
    expect(put.json).toMatchObject({ params: { name: '__proto__' }, body: { size: 1 } });
    const query = await ask(path, { target: '/v1/search?__proto__=a&constructor=b&q=c' });
    expect(query.json).toEqual({ query: { q: 'c' }, keys: ['q'] });
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    expect((await ask(path, { target: '/v1/search?__proto__=a&__proto__=b' })).status).toBe(400);
  });
});

describe('bytes that no client library sends', () => {
  const head = 'HTTP/1.1\r\nHost: x\r\n';
  test.each([
    ['absolute-form', `GET http://evil.example/v1/things ${head}\r\n`, 400, 'invalid_target'],
    ['GET *', `GET * ${head}\r\n`, 400, 'invalid_target'],
    ['OPTIONS *', `OPTIONS * ${head}\r\n`, 400, 'invalid_target'],
    ['raw bytes beyond ASCII', `GET /v1/search?q=\xc3\xbc ${head}\r\n`, 400, 'invalid_request'],
    ['two Hosts', `GET /v1/things ${head}hOST: y\r\n\r\n`, 400, 'invalid_request'],
    ['CONNECT', `CONNECT evil.example:443 ${head}\r\n`, 405, 'method_not_allowed'],
    ['an unknown method', `BREW /v1/things ${head}\r\n`, 400, 'invalid_request'],
    ['garbage', '\x00\x01\x02\x03 garbage\r\n\r\n', 400, 'invalid_request'],
    ['the start of TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'invalid_request'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'invalid_request'],
    ['no Host in HTTP/1.1', 'GET /v1/things HTTP/1.1\r\n\r\n', 400, 'invalid_request'],
    ['a space in a header name', `GET /v1/things ${head}a b: c\r\n\r\n`, 400, 'invalid_request'],
    ['two lengths', `PUT /v1/things/a ${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`, 400, 'invalid_request'],
    [
      'a length and chunks',
      `PUT /v1/things/a ${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
      'invalid_request',
    ],
    [
      'a second Host after 3,000 headers',
      `GET /v1/things ${head}${'a:\r\n'.repeat(3_000)}Host: y\r\n\r\n`,
      400,
      'invalid_request',
    ],
  ] as const)('%s', async (_name, bytes, status, code) => {
    const { path } = await serve();
    const raw = openRaw(path, Buffer.from(bytes, 'latin1'));
    const text = await raw.until(/\r\n\r\n\{.*\}\n/);
    expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({
      error: code,
      message: expect.any(String),
    });
  });

  test('a refused connection is closed although the other side never hangs up', async () => {
    const { edge } = await serve();
    const server = edge.createServer('socket');
    const path = join(tempDir(), 'b.sock');
    await listenOnPath(server, { path, mode: 0o600 });
    const caller = connect({ path, allowHalfOpen: true });
    onTestFinished(() => {
      caller.destroy();
    });
    caller.on('error', () => undefined);
    caller.write('garbage\r\n\r\n');
    const [chunk] = await once(caller, 'data');
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 400 /);
    const count = () => new Promise((resolve) => server.getConnections((_error, open) => resolve(open)));
    await expect.poll(count).toBe(0);
  });

  test('garbage after a request whose answer is still due breaks off and writes nothing into that answer', async () => {
    const release = Promise.withResolvers<void>();
    const { path } = await serveEdge(
      { slow: operations.read },
      {
        slow: async () => {
          await release.promise;
          return {};
        },
      },
    );
    const raw = openRaw(path, 'GET /v1/things HTTP/1.1\r\nHost: x\r\n\r\n');
    raw.socket.write('\x00\x01garbage\r\n\r\n');
    expect(await raw.ended).toBe('');
    release.resolve();
  });

  test('an upgrade that nobody takes is served as the request it is', async () => {
    const { path } = await serve();
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';
    const raw = openRaw(path, `GET /v1/things HTTP/1.1\r\nHost: x\r\n${upgrade}\r\n`);
    expect(await raw.until(/\{"things":\[\]\}\n/)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test('HTTP/1.0 without a Host is served', async () => {
    const { path } = await serve();
    const raw = openRaw(path, 'GET /v1/things HTTP/1.0\r\n\r\n');
    expect(await raw.ended).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"things":\[\]\}\n$/);
  });
});

describe('a body over the limit', () => {
  const head = 'PUT /v1/things/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';

  test('by its declared length is refused before it is sent, and the connection closes', async () => {
    const { path } = await serve();
    const raw = openRaw(path, `${head}Content-Length: 2000000\r\nExpect: 100-continue\r\n\r\n`);
    const text = await raw.ended;
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).toMatch(/\r\nconnection: close\r\n/i);
    expect(text).toContain('"payload_too_large"');
  });

  test.each([
    ['declared', `${head}Content-Length: 20000000\r\n\r\n`, (data: string) => data],
    [
      'chunked',
      `${head}Transfer-Encoding: chunked\r\n\r\n`,
      (data: string) => `${data.length.toString(16)}\r\n${data}\r\n`,
    ],
  ])(
    '%s: the answer can be read although the caller goes on sending, and the connection closes',
    async (_name, start, frame) => {
      const { path } = await serve();
      const raw = openRaw(path, start);
      raw.socket.on('error', () => undefined);
      const piece = frame(' '.repeat(64 * 1024));
      const send = () => {
        if (raw.socket.writable) raw.socket.write(piece, send);
      };
      send();
      const text = await raw.ended;
      expect(text).toMatch(/^HTTP\/1\.1 413 /);
      expect(text).toMatch(/\r\nconnection: close\r\n/i);
      expect(text).toContain('"payload_too_large"');
    },
  );

  test('just under the limit is read', async () => {
    const { path } = await serve();
    const body = `{"size":1${' '.repeat(1024 * 1024 - 10)}}`;
    expect((await ask(path, { method: 'PUT', target: '/v1/things/a', headers: asJson, body })).status).toBe(200);
  });

  test('100-continue is sent for a body that is wanted', async () => {
    const { path } = await serve();
    const raw = openRaw(path, `${head}Content-Length: 10\r\nExpect: 100-continue\r\n\r\n`);
    await raw.until(/^HTTP\/1\.1 100 Continue\r\n\r\n/);
    raw.socket.write('{"size":1}');
    expect(await raw.until(/"size":1/)).toContain('HTTP/1.1 200 ');
  });
});

test('a connection is used again after every error that leaves it whole', async () => {
  const { path } = await serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ports = new Set<unknown>();
  agent.on('free', (socket) => ports.add(socket));
  const body = '{"size":"big"}';
  const statuses: number[] = [];
  for (const question of [
    { target: '/v1/nothing' },
    { method: 'POST', target: '/v1/things', body },
    { method: 'PUT', target: '/v1/things/a', headers: asJson, body },
    { method: 'PUT', target: '/v1/things/a', body },
    { target: '/v1/search?q=%' },
    { target: '/v1/things' },
  ])
    statuses.push((await ask(path, { ...question, agent })).status);
  expect(statuses).toEqual([404, 405, 400, 415, 400, 200]);
  expect(ports.size).toBe(1);
  agent.destroy();
});
