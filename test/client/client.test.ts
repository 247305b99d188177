// The typed client against real servers: what it sends, what it makes of answers, and how each failure looks.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Agent } from 'undici';
import { afterEach, expect, test } from 'vitest';
import { createClient } from '../../src/client/client.ts';
import { UpstreamError } from '../../src/client/upstream-error.ts';
import { connectorOperations } from '../../src/contract/connectors.ts';
import { statusOperations } from '../../src/contract/local/status.ts';
import { localUpgradeOperations } from '../../src/contract/local/upgrade.ts';
import { machineOperations } from '../../src/contract/machines.ts';
import { nodeOperations } from '../../src/contract/replication.ts';
import { signOnOperations } from '../../src/contract/sign-on.ts';
import { spriteOperations } from '../../src/contract/sprites.ts';
import { tempDir } from '../support/temp-dir.ts';

const operations = {
  ...spriteOperations,
  ...connectorOperations,
  ...machineOperations,
  ...nodeOperations,
  ...signOnOperations,
  ...statusOperations,
  ...localUpgradeOperations,
} as const;

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function listen(server: Server, where: string | number): Promise<void> {
  await new Promise<void>((resolve) => server.listen(where, resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    server.close();
  });
}

async function serve(answer: (response: ServerResponse, seen: Seen) => void, where: string | number = 0) {
  const calls: Seen[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const seen = { method: request.method, url: request.url, headers: request.headers, body };
    calls.push(seen);
    answer(response, seen);
  });
  await listen(server, where);
  const socketPath = typeof where === 'string' ? where : undefined;
  const agent = new Agent(socketPath === undefined ? {} : { connect: { socketPath } });
  cleanups.push(() => agent.destroy());
  const address = server.address();
  const origin = socketPath === undefined ? `http://127.0.0.1:${(address as AddressInfo).port}` : 'http://remora';
  return { calls, server, origin, dispatcher: () => agent };
}

const json = (status: number, body: unknown, headers = {}) => {
  return (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
};

async function failure(call: Promise<unknown>): Promise<UpstreamError> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(UpstreamError);
  if (!(error instanceof UpstreamError)) throw new Error('not an UpstreamError');
  return error;
}

const stored = { id: 'conn_1', provider: 'openai', provider_account_id: 'key-1' };

test('a call sends the parameters of its operation and parses the answer, dropping what is not in the contract', async () => {
  const at = await serve(json(200, { connection: { ...stored, api_key: 'sk-secret' }, extra: 1 }));
  const client = createClient(operations, {
    origin: `${at.origin}/base/`,
    dispatcher: at.dispatcher,
    headers: () => ({ authorization: 'Bearer t' }),
  });
  const body = { access_policy: { allow_all: true } };
  const answer = await client.call('updateConnection', { params: { id: 'a/b c' }, body, headers: { 'x-extra': '1' } });
  expect(answer).toEqual({ connection: stored });
  expect(at.calls).toHaveLength(1);
  expect(at.calls[0]).toMatchObject({
    method: 'PATCH',
    url: '/base/v1/oauth/connections/a%2Fb%20c',
    headers: { authorization: 'Bearer t', 'x-extra': '1', 'content-type': 'application/json' },
    body: '{"access_policy":{"allow_all":true}}',
  });
});

test('a query leaves out what is not given, and an operation without requirements needs no input', async () => {
  const list = { sprites: [], has_more: false, running: 0, warm: 0, cold: 0, name: 'org' };
  const at = await serve(json(200, list));
  const client = createClient(operations, at);
  await client.call('listSprites');
  await client.call('listSprites', { query: { prefix: 'a&b', max_results: 3 } });
  expect(at.calls.map((call) => call.url)).toEqual(['/v1/sprites', '/v1/sprites?prefix=a%26b&max_results=3']);
});

test('what an operation requires is required by its types', async () => {
  const at = await serve(json(200, {}));
  const client = createClient(operations, at);
  // @ts-expect-error the path parameter is missing
  await expect(client.call('readSprite')).rejects.toThrow('name may not be empty');
  // @ts-expect-error the key is missing
  const missing = () => client.call('createApiKeyConnection', { body: { provider: 'p' } });
  // @ts-expect-error an operation with a stream cannot be called
  const wrongKind = () => client.call('nodeEvents');
  // @ts-expect-error max_results is a number
  const wrongType = () => client.call('listSprites', { query: { max_results: true } });
  expect([missing, wrongKind, wrongType]).toHaveLength(3);
});

test('a dot segment as a parameter is refused before anything is sent', async () => {
  const at = await serve(json(200, {}));
  const client = createClient(operations, at);
  await expect(client.call('readSprite', { params: { name: '..' } })).rejects.toThrow('name may not be ..');
  expect(at.calls).toEqual([]);
});

test('the wire word started arrives as running', async () => {
  const at = await serve(json(200, { id: 'm1', state: 'started' }));
  const client = createClient(operations, at);
  const params = { app_name: 'app', machine_id: 'm1' };
  expect(await client.call('readMachine', { params })).toEqual({ id: 'm1', state: 'running' });
});

test('a JSON answer without content is undefined where the operation allows it, and invalid elsewhere', async () => {
  const at = await serve((response) => response.writeHead(204).end());
  const client = createClient(operations, at);
  expect(await client.call('upgradeAgent')).toBeUndefined();
  expect((await failure(client.call('listSprites'))).code).toBe('invalid_answer');
});

test('an empty answer is undefined, a text answer a string, a form body a form', async () => {
  const empty = await serve((response) => response.writeHead(204).end());
  expect(await createClient(operations, empty).call('deleteConnection', { params: { id: 'c' } })).toBeUndefined();
  const text = await serve((response) => response.end('a 1\n'));
  expect(await createClient(operations, text).call('metrics')).toBe('a 1\n');
  const token = { access_token: 'a', token_type: 'Bearer', expires_in: 7200, refresh_token: 'r', scope: 'read' };
  const form = await serve(json(200, { ...token, created_at: 1 }));
  await createClient(operations, form).call('exchangeToken', {
    body: {
      client_id: 'i',
      client_secret: 's',
      grant_type: 'authorization_code',
      code: 'c',
      redirect_uri: 'https://x/',
    },
  });
  expect(form.calls[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
  expect(form.calls[0]?.body).toContain('redirect_uri=https%3A%2F%2Fx%2F');
});

test('a status that the operation also knows is an answer', async () => {
  const at = await serve(json(503, { status: 'not_ready', parts: {}, warnings: [] }));
  const parts = await failure(createClient(operations, at).call('status'));
  expect(parts.status).toBe(503);
  const agent = at.dispatcher();
  const tolerant = {
    ready: { ...statusOperations.ready, answer: { ...statusOperations.health.answer, also: [503] } },
  } as const;
  const ok = await serve(json(503, { status: 'ok' }));
  expect(await createClient(tolerant, { ...ok, dispatcher: () => agent }).call('ready')).toEqual({ status: 'ok' });
});

test('it speaks over a Unix socket', async () => {
  const path = join(tempDir(), 's');
  const at = await serve(json(200, { status: 'ok' }), path);
  expect(await createClient(operations, at).call('health')).toEqual({ status: 'ok' });
  expect(at.calls[0]?.headers.host).toBe('remora');
});

test.each([
  [404, { error: 'not_found', message: 'no such sprite' }, {}, { code: 'not_found', retryable: false }],
  [409, { error: 'held', message: 'm', details: [1] }, {}, { code: 'held', details: [1], retryable: false }],
  [
    429,
    { error: 'too_many_requests', message: 'm' },
    { 'retry-after': '3' },
    { retryable: true, retryAfter_ms: 3_000 },
  ],
  [503, {}, { 'retry-after': 'nonsense' }, { code: 'status_503', retryable: true, retryAfter_ms: undefined }],
  [
    422,
    { error: 'machine is not eligible', status: 'x' },
    {},
    { code: 'status_422', message: 'machine is not eligible' },
  ],
  [403, { error: 'forbidden', message: 'm' }, { 'remora-error': 'forbidden' }, { answeredBy: 'remora' }],
  [404, { error: 'not_found', message: 'm' }, {}, { answeredBy: 'documented' }],
  [404, { message: 'no route' }, {}, { answeredBy: 'stranger', message: '{"message":"no route"}' }],
  [302, {}, { location: '/elsewhere' }, { code: 'status_302', retryable: false }],
])('status %i becomes an error that says what to do', async (status, body, headers, expected) => {
  const at = await serve(json(status, body, headers));
  const error = await failure(createClient(operations, at).call('readSprite', { params: { name: 'x' } }));
  expect(error).toMatchObject({ status, sent: true, ...expected });
});

test('a page that a proxy answers with is not what the error says', async () => {
  const at = await serve((response) => response.writeHead(404).end('<html><h1>nginx</h1></html>'));
  expect(await failure(createClient(operations, at).call('health'))).toMatchObject({
    answeredBy: 'stranger',
    message: 'the answer 404 does not come from the platform',
  });
});

test('a Retry-After date is counted from the Date of the same answer', async () => {
  const date = 'Sat, 21 Nov 2026 09:00:00 GMT';
  const at = await serve(json(503, {}, { date, 'retry-after': 'Sat, 21 Nov 2026 09:00:05 GMT' }));
  expect((await failure(createClient(operations, at).call('health'))).retryAfter_ms).toBe(5_000);
});

test('no listener: not sent and worth another try', async () => {
  const at = await serve(json(200, {}), join(tempDir(), 's'));
  await new Promise((resolve) => at.server.close(resolve));
  const error = await failure(createClient(operations, at).call('health'));
  expect(error).toMatchObject({ code: 'connection_failed', status: undefined, sent: false, retryable: true });
});

test('a connection that breaks off before the answer may have been sent', async () => {
  const at = await serve((response) => response.destroy());
  const error = await failure(createClient(operations, at).call('health'));
  expect(error).toMatchObject({ code: 'connection_failed', sent: true });
});

test('a server that never answers is given up at the deadline, also in the middle of a body', async () => {
  const silent = await serve(() => undefined);
  const early = await failure(createClient(operations, { ...silent, timeout_ms: 1_000 }).call('health'));
  expect(early).toMatchObject({ code: 'timeout', retryable: true, sent: true });
  const half = await serve((response) => response.write('{"status"'));
  expect(await failure(createClient(operations, half).call('health', { timeout_ms: 300 }))).toMatchObject({
    code: 'timeout',
  });
});

test('a caller that gives up ends the call', async () => {
  const at = await serve(() => undefined);
  const controller = new AbortController();
  const call = createClient(operations, at).call('health', { signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  expect(await failure(call)).toMatchObject({ code: 'aborted', retryable: false });
  expect(await failure(createClient(operations, at).call('health', { signal: controller.signal }))).toMatchObject({
    code: 'aborted',
  });
});

test('a success in another shape is an error that names the field and not its value', async () => {
  const at = await serve(json(200, { status: 'sk-secret' }));
  const error = await failure(createClient(operations, at).call('health'));
  expect(error).toMatchObject({ code: 'invalid_answer', status: 200, retryable: false });
  expect(error.message).toContain('status');
  expect(error.message).not.toContain('sk-secret');
});

test('an answer over the cap is refused', async () => {
  const at = await serve((response) => response.end(Buffer.alloc(9 * 1024 * 1024, 0x20)));
  expect(await failure(createClient(operations, at).call('health'))).toMatchObject({ code: 'answer_too_large' });
});

const tx = (id: number) => {
  const data = {
    txID: id.toString(16).padStart(16, '0'),
    postApplyChecksum: 'ce1969f21a78f3f9',
    pageSize: 4096,
    commit: 1,
  };
  return { type: 'tx', db: 'ünï.db', data: { ...data, timestamp: '2026-11-21T09:19:07.1Z' } };
};

test('a stream yields parsed lines however its bytes are cut, and ends with the stream', async () => {
  const events = [{ type: 'init', data: { isPrimary: true } }, tx(1), tx(2)];
  const bytes = Buffer.from(`\n${events.map((event) => JSON.stringify(event)).join('\r\n\n')}`);
  const at = await serve(async (response) => {
    for (const byte of bytes) {
      response.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    response.end();
  });
  const client = createClient(operations, { ...at, timeout_ms: 5_000 });
  expect(await Array.fromAsync(client.stream('nodeEvents'))).toEqual(events);
});

test('leaving the loop of a stream ends the call on the server', async () => {
  let closed: () => void = () => undefined;
  const gone = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const at = await serve((response) => {
    response.on('close', closed);
    response.write(`${JSON.stringify(tx(1))}\n`);
  });
  for await (const event of createClient(operations, at).stream('nodeEvents')) {
    expect(event.type).toBe('tx');
    break;
  }
  await gone;
});

test('a stream has no deadline after its headers, and ends loudly when it breaks or the caller gives up', async () => {
  const responses: ServerResponse[] = [];
  const at = await serve((response) => {
    response.write(`${JSON.stringify(tx(1))}\n`);
    responses.push(response);
  });
  const client = createClient(operations, { ...at, timeout_ms: 30 });
  const read = client.stream('nodeEvents', { timeout_ms: 1_500 })[Symbol.asyncIterator]();
  await read.next();
  await new Promise((resolve) => setTimeout(resolve, 1_600));
  responses[0]?.write(`${JSON.stringify(tx(2))}\n`);
  expect((await read.next()).value).toEqual(tx(2));
  responses[0]?.destroy();
  expect(await failure(read.next())).toMatchObject({ code: 'connection_failed' });

  const controller = new AbortController();
  const second = client.stream('nodeEvents', { timeout_ms: 5_000, signal: controller.signal })[Symbol.asyncIterator]();
  await second.next();
  controller.abort();
  expect(await failure(second.next())).toMatchObject({ code: 'aborted' });
});

test('a stream with a longest pause fails in a longer one, and not while its reader asks for nothing', async () => {
  const responses: ServerResponse[] = [];
  const at = await serve((response) => {
    response.write(`${JSON.stringify(tx(1))}\n`);
    responses.push(response);
  });
  const read = createClient(operations, at).stream('nodeEvents', { idle_ms: 100 })[Symbol.asyncIterator]();
  expect((await read.next()).value).toEqual(tx(1));
  await new Promise((resolve) => setTimeout(resolve, 200));
  responses[0]?.write('\n');
  responses[0]?.write(`${JSON.stringify(tx(2))}\n`);
  expect((await read.next()).value).toEqual(tx(2));
  expect(await failure(read.next())).toMatchObject({ code: 'timeout', retryable: true, sent: true });
});

test.each([
  ['{"type":"error","error":"slow_reader","message":"too slow"}\n', { code: 'slow_reader', message: 'too slow' }],
  ['{"type":"tx"', { code: 'invalid_answer' }],
  [`{"type":"${'x'.repeat(1024 * 1024)}"}\n`, { code: 'answer_too_large' }],
])('a stream with %.40s fails', async (text, expected) => {
  const at = await serve((response) => response.end(text));
  expect(await failure(Array.fromAsync(createClient(operations, at).stream('nodeEvents')))).toMatchObject(expected);
});
