// Everything that the platform asks of a provider, through a real server: what the functions get, and what the platform reads.
import { once } from 'node:events';
import { connect } from 'node:net';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createProviderHandler, ProviderError, toExpressMiddleware } from '../../src/provider/index.ts';
import {
  callSigned,
  KIT_SECRET,
  listen,
  openKitProvider,
  plainFunctions,
  provisioning,
  signCall,
} from '../support/kit-provider.ts';

describe('the life of a resource', () => {
  it('is provisioned, updated, read and removed, by the id of the provider', async () => {
    const seen: unknown[] = [];
    const { call } = await openKitProvider({
      provision: (request) => {
        seen.push(['provision', request]);
        return { id: 'kv/1 ü', config: { KV_URL: 'http://kv' } };
      },
      update: (id, request) => {
        seen.push(['update', id, request.primary_region]);
        return { config: { KV_URL: 'http://other' } };
      },
      read: (id) => ({ id, status: 'ready', plan: 'small', size: 3 }),
      remove: (id) => void seen.push(['remove', id]),
    });
    const made = await call({ method: 'POST', path: '/extensions', body: provisioning('e1', { more: 1 }) });
    expect(made).toMatchObject({ status: 200, json: { id: 'kv/1 ü', config: { KV_URL: 'http://kv' } } });
    expect(made.headers.get('cache-control')).toBe('no-store');
    const path = `/extensions/${encodeURIComponent('kv/1 ü')}`;
    const body = provisioning('e1', { primary_region: 'fra', read_regions: ['ams'] });
    expect(await call({ method: 'PATCH', path, body })).toMatchObject({
      status: 200,
      json: { config: { KV_URL: 'http://other' } },
    });
    expect(await call({ path })).toMatchObject({
      status: 200,
      json: { id: 'kv/1 ü', status: 'ready', plan: 'small', size: 3 },
    });
    expect(await call({ method: 'DELETE', path })).toMatchObject({ status: 204, json: undefined });
    expect(await call({ path })).toMatchObject({ status: 404, json: { error: 'not_found' } });
    // The fields of the signature, and what the contract does not know, are not handed on.
    expect(seen).toEqual([
      ['provision', provisioning('e1')],
      ['update', 'kv/1 ü', 'fra'],
      ['remove', 'kv/1 ü'],
    ]);
  });

  it('is found by the id of the platform too, which knows no other after a lost answer', async () => {
    const removed: string[] = [];
    const { call } = await openKitProvider({ remove: (id) => void removed.push(id) });
    await call({ method: 'POST', path: '/extensions', body: provisioning('e1') });
    expect((await call({ path: '/extensions/e1' })).json).toEqual({ id: 'p-e1', status: 'ready' });
    expect((await call({ method: 'DELETE', path: '/extensions/e1' })).status).toBe(204);
    expect((await call({ method: 'DELETE', path: '/extensions/p-e1' })).status).toBe(404);
    expect(removed).toEqual(['p-e1']);
  });
});

describe('costs and machine events', () => {
  const item = {
    extension_id: 'p-1',
    from: '2026-01-01T00:00:00Z',
    to: '2026-01-02T00:00:00Z',
    amount: 125,
    currency: 'EUR',
    description: 'storage',
  };

  it('costs of a period are whole smallest units', async () => {
    let amount = 125;
    const { call, errors } = await openKitProvider({ costs: ({ from, to }) => [{ ...item, from, to, amount }] });
    const query = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    expect(await call({ path: '/billing', query })).toMatchObject({ status: 200, json: { items: [item] } });
    expect(await call({ path: '/billing', query: { from: 'monday', to: query.to } })).toMatchObject({
      status: 400,
      json: { error: 'invalid_request', details: { fields: [{ field: 'from' }] } },
    });
    amount = 1.25;
    expect(await call({ path: '/billing', query })).toMatchObject({ status: 500, json: { error: 'internal' } });
    expect(String(errors[0])).toContain('the function costs returned');
  });

  it('a bill may be as long as the platform reads, and no longer', async () => {
    let [count, amount] = [10_000, 1];
    const description = 'd'.repeat(40);
    const lines = () => Array.from({ length: count }, () => ({ ...item, amount, description }));
    const { call, errors } = await openKitProvider({ costs: lines });
    const query = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    const answer = await call({ path: '/billing', query });
    expect([answer.status, answer.json.items.length]).toEqual([200, 10_000]);
    count = 10_001;
    expect((await call({ path: '/billing', query })).status).toBe(500);
    expect(String(errors[0])).toContain('at most 10000');
    amount = 0.5;
    expect((await call({ path: '/billing', query })).status).toBe(500);
    expect(String(errors[1]).length).toBeLessThan(500);
  });

  const headers = {
    'ce-specversion': '1.0',
    'ce-id': 'ev-1',
    'ce-source': '/apps/caf%C3%A9',
    'ce-time': '2026-01-01T00:00:00Z',
  };
  const attributes = { id: 'ev-1', source: '/apps/café', time: '2026-01-01T00:00:00Z' };

  it.each([
    [
      'machine',
      'io.remora.machine.failed',
      {
        machine_id: 'm1',
        status: 'failed',
        data: {
          Transition: { from: 'started', to: 'stopped', trigger: 'exit' },
          Error: { message: 'exit code 1', exit_code: 1, signal: null },
        },
      },
    ],
    [
      'member',
      'io.remora.organization.user_role_changed',
      { organization_id: 'o', user_id: 'u', status: 'user_role_changed', data: { role: 'admin', from: 'member' } },
    ],
    ['host', 'io.remora.host.drained', { host: 'h1', status: 'drained', data: { machine_ids: ['m1'] } }],
  ])('an event of a %s comes with the attributes of its headers', async (kind, type, body) => {
    const events: unknown[] = [];
    const take = (to: string) => (event: unknown) => void events.push([to, event]);
    const { call } = await openKitProvider({
      machineEvent: take('machine'),
      memberEvent: take('member'),
      hostEvent: take('host'),
    });
    const event = { method: 'POST', path: '/extensions/events', body, headers: { ...headers, 'ce-type': type } };
    expect((await call(event)).status).toBe(204);
    expect(events).toEqual([[kind, { ...body, ...attributes, type }]]);
    expect((await call({ ...event, headers: {} })).status).toBe(400);
    expect((await call({ ...event, body: { status: 'failed' } })).status).toBe(400);
    expect((await call({ ...event, headers: { ...event.headers, 'ce-type': 'io.remora.moon.rises' } })).status).toBe(
      204,
    );
    expect(events).toHaveLength(1);
    const unwanted = await openKitProvider();
    expect((await unwanted.call(event)).status).toBe(204);
    expect((await unwanted.call({ ...event, secret: new Secret('other') })).status).toBe(401);
  });

  it('are 501 where the provider has no function for them', async () => {
    const { call } = await openKitProvider();
    const query = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' };
    expect(await call({ path: '/billing', query })).toMatchObject({ status: 501, json: { error: 'not_implemented' } });
    expect((await call({ path: '/extensions/e1/sso' })).status).toBe(501);
  });
});

describe('what goes wrong', () => {
  it('an error of the provider is answered with its code; any other as 500 without its words', async () => {
    let thrown: unknown = new ProviderError('limit_reached', 'the plan has no room', { retryAfter_ms: 2_500 });
    const { call, errors } = await openKitProvider({
      provision() {
        throw thrown;
      },
    });
    const post = () => call({ method: 'POST', path: '/extensions', body: provisioning('e1') });
    const refused = await post();
    expect(refused).toMatchObject({ status: 409, json: { error: 'limit_reached', message: 'the plan has no room' } });
    expect(refused.headers.get('retry-after')).toBe('3');
    expect(errors).toEqual([]);
    thrown = new Error('password hunter2');
    const failed = await post();
    expect(failed).toMatchObject({ status: 500, json: { error: 'internal' } });
    expect(JSON.stringify(failed.json)).not.toContain('hunter2');
    expect(errors).toEqual([thrown]);
  });

  it('an answer of the provider that the platform would not read is a 500, and says which field', async () => {
    const { call, errors } = await openKitProvider({
      // @ts-expect-error A function that is written in JavaScript may return this.
      provision: () => ({ id: 'p1', config: { PORT: 5432 } }),
    });
    const { status } = await call({ method: 'POST', path: '/extensions', body: provisioning('e1') });
    expect(status).toBe(500);
    expect(String(errors[0])).toContain('config.PORT expected text');
  });

  it.each([
    ['a body that names no user', 'POST', '/extensions', { ...provisioning('e1'), user_id: undefined }, 400],
    ['a region that is none', 'POST', '/extensions', provisioning('e1', { primary_region: 'Frankfurt' }), 400],
    ['a method that the path has not', 'PUT', '/extensions/e1', {}, 405],
    ['a path that is not served', 'POST', '/extension', {}, 404],
    ['an id that is no UTF-8', 'PATCH', '/extensions/%ff', {}, 400],
  ])('%s', async (_case, method, path, body, status) => {
    const { call } = await openKitProvider();
    const answer = await call({ method, path, body });
    expect(answer.status).toBe(status);
    expect(answer.json.error).toMatch(/^[a-z_]+$/);
  });

  it('no signature, another secret and a repeated nonce: 401 with one body, and no function is called', async () => {
    let calls = 0;
    const { call, baseUrl } = await openKitProvider({
      provision: () => {
        calls += 1;
        return { id: 'p', config: {} };
      },
    });
    const post = { method: 'POST', path: '/extensions', body: provisioning('e1') };
    await call({ ...post, nonce: 'once' });
    const unsigned = await fetch(`${baseUrl}/extensions`, { method: 'POST', body: JSON.stringify(post.body) });
    const bodies = [
      await unsigned.json(),
      (await call({ ...post, secret: new Secret('other') })).json,
      (await call({ ...post, nonce: 'once' })).json,
    ];
    expect(unsigned.status).toBe(401);
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    expect(calls).toBe(1);
  });

  it('two secrets are good at once, and one that was taken out is not', async () => {
    const newer = new Secret('newer-secret');
    let secrets = [newer, KIT_SECRET];
    const { call } = await openKitProvider({ provisioningSecrets: () => secrets });
    expect((await call({ path: '/extensions/e1', secret: newer })).status).toBe(200);
    expect((await call({ path: '/extensions/e1' })).status).toBe(200);
    secrets = [newer];
    expect((await call({ path: '/extensions/e1' })).status).toBe(401);
  });

  it('a body over the cap is refused, declared or not, and a caller that still sends reads it', async () => {
    const { baseUrl } = await openKitProvider();
    const { host, hostname, port } = new URL(baseUrl);
    const chunk = 'x'.repeat(32 * 1024);
    const [declared, chunked] = ['content-length: 10485760', 'transfer-encoding: chunked'];
    // What is declared is refused before any of it comes.
    for (const [head, parts] of [
      [declared, 0],
      [declared, 8],
      [chunked, 8],
    ] as const) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      socket.write(`POST /remora/extensions HTTP/1.1\r\nhost: ${host}\r\nx-signature: 00\r\n${head}\r\n\r\n`);
      for (let part = 0; part < parts; part += 1) {
        socket.write(head === chunked ? `${chunk.length.toString(16)}\r\n${chunk}\r\n` : chunk);
      }
      const [data]: Buffer[] = await once(socket, 'data');
      expect(String(data)).toMatch(/^HTTP\/1\.1 413 /);
      expect(String(data)).toContain('payload_too_large');
      socket.destroy();
    }
  });

  it('an answer that is longer than the platform reads is a 500', async () => {
    const config = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`A${index}`, 'x'.repeat(8_000)]));
    const { call, errors } = await openKitProvider({ provision: ({ id }) => ({ id, config }) });
    expect((await call({ method: 'POST', path: '/extensions', body: provisioning('e1') })).status).toBe(500);
    expect(String(errors)).toContain('more than 65536 bytes');
  });

  it('a function that takes too long: asked again, the answer is the one it had', async () => {
    const slow = Promise.withResolvers<{ id: string; config: Record<string, string> }>();
    let calls = 0;
    const { call } = await openKitProvider({
      limit_ms: 100,
      provision: () => {
        calls += 1;
        return slow.promise;
      },
    });
    const post = { method: 'POST', path: '/extensions', body: provisioning('e1') };
    const first = await call(post);
    expect(first).toMatchObject({ status: 503, json: { error: 'not_ready' } });
    expect(first.headers.get('retry-after')).toBe('1');
    expect((await call(post)).status).toBe(503);
    slow.resolve({ id: 'p1', config: { A: 'b' } });
    await expect.poll(async () => (await call(post)).json).toEqual({ id: 'p1', config: { A: 'b' } });
    expect(calls).toBe(1);
  });
});

it('a removal of what the provider has no more is said so, and the extension is gone', async () => {
  let isBroken = true;
  const { call } = await openKitProvider({
    remove() {
      if (isBroken) throw new ProviderError('invalid_state', 'a backup runs');
      throw new ProviderError('not_found', 'no such box');
    },
  });
  const post = { method: 'POST', path: '/extensions', body: provisioning('e1') };
  await call(post);
  const removal = { method: 'DELETE', path: '/extensions/p-e1' };
  expect((await call(removal)).status).toBe(409);
  expect((await call(post)).status).toBe(200);
  isBroken = false;
  expect((await call(removal)).status).toBe(404);
  expect((await call(post)).status).toBe(410);
});

it('no function keeps the platform waiting for ever', async () => {
  const never = new Promise<never>(() => undefined);
  const { baseUrl } = await openKitProvider({ limit_ms: 50, update: () => never, remove: () => never });
  const path = '/extensions/e1';
  expect((await callSigned(baseUrl, { method: 'PATCH', path, body: provisioning('e1') })).status).toBe(503);
  expect((await callSigned(baseUrl, { method: 'DELETE', path })).status).toBe(503);
});

describe('other servers', () => {
  it('Request in, Response out', async () => {
    const baseUrl = 'https://kv.test/remora';
    const handler = createProviderHandler({
      baseUrl,
      provisioningSecrets: () => [KIT_SECRET],
      onError: (error) => {
        throw error;
      },
      ...plainFunctions,
    });
    const post = signCall(baseUrl, { method: 'POST', path: '/extensions', body: provisioning('e1') });
    const made = await handler(new Request(post.url, post.init));
    expect(await made.json()).toEqual({ id: 'p-e1', config: { KEY: 'secret of e1' } });
    const removal = signCall(baseUrl, { method: 'DELETE', path: '/extensions/p-e1' });
    const removed = await handler(new Request(removal.url, removal.init));
    expect([removed.status, await removed.text()]).toEqual([204, '']);
    expect((await handler(new Request('https://kv.test/elsewhere'))).status).toBe(404);
    expect(() => createProviderHandler({ ...plainOptions, baseUrl: 'kv.test' })).toThrow(TypeError);
  });

  const plainOptions = { provisioningSecrets: () => [KIT_SECRET], onError: () => undefined, ...plainFunctions };

  it('Express: below other paths, after express.raw(), and not after express.json()', async () => {
    const app = express();
    const { url } = await listen(app);
    const kit = (name: string) =>
      toExpressMiddleware(createProviderHandler({ ...plainOptions, baseUrl: `${url}/${name}` }));
    app.use(kit('first'));
    app.use(express.raw({ type: () => true }), kit('raw'));
    app.get('/own', (_request, response) => void response.send('own'));
    const parsed = express();
    const { url: parsedUrl } = await listen(parsed);
    parsed.use(express.json());
    parsed.use(toExpressMiddleware(createProviderHandler({ ...plainOptions, baseUrl: `${parsedUrl}/x` })));
    parsed.use(((error, _request, response, _next) => {
      response.status(500).json({ said: String(error) });
    }) satisfies express.ErrorRequestHandler);

    const post = { method: 'POST', path: '/extensions', body: provisioning('e1') };
    for (const name of ['first', 'raw']) {
      expect(await callSigned(`${url}/${name}`, post)).toMatchObject({ status: 200, json: { id: 'p-e1' } });
      expect(await callSigned(`${url}/${name}`, { path: '/extensions/e1' })).toMatchObject({ status: 200 });
    }
    expect(await (await fetch(`${url}/own`)).text()).toBe('own');
    expect((await callSigned(`${parsedUrl}/x`, post)).json.said).toContain('above express.json()');
  });
});
