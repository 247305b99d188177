import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import type { NewCatalogueEntry } from '../../../src/platform/catalogue/catalogue-entry.ts';
import { ask } from '../../support/ask.ts';
import { eventually } from '../../support/eventually.ts';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { type GatewayCase, gatewayCases } from '../../support/gateway-corpus.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';

const PROVIDER_KEY = 'canary-provider-key-0815';
const open = { allow_all: true };

/** A provider that records what reaches it and answers as its path says. */
async function openProvider() {
  const calls: { target: string; method: string; rawHeaders: readonly string[]; closed: boolean }[] = [];
  const server = createServer((request, response) => {
    const call = {
      target: request.url ?? '',
      method: request.method ?? '',
      rawHeaders: request.rawHeaders,
      closed: false,
    };
    calls.push(call);
    response.once('close', () => {
      call.closed = !response.writableFinished;
    });
    if (call.target.includes('hang')) return;
    if (call.target.includes('stream')) response.write('data: 1\n\n');
    else if (call.target.includes('break')) response.write('part', () => request.socket.destroy());
    else if (call.target.includes('limit')) response.writeHead(429, { 'remora-error': 'endpoint_blocked' }).end('slow');
    else response.setHeader('set-cookie', 'a=b').end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function openAll() {
  const provider = await openProvider();
  const entry = (name: string, path: string): NewCatalogueEntry => ({
    provider: name,
    display_name: name,
    description: 'of the test',
    address: { type: 'fixed', url: provider.url + path },
    injection: { in: 'header', name: 'x-api-key', prefix: '' },
    allow_http: true,
    sample_path: '/',
  });
  const platform = await openTestPlatform({ catalogue: [entry('openai', ''), entry('custom_api', '/v1')] });
  const { admin } = platform;
  const organization = 'acme';
  const api_key = new Secret(PROVIDER_KEY);
  await admin.createOrganization('other');
  for (const id of ['conn_1', 'conn_2']) await admin.createConnector({ organization, provider: 'openai', api_key, id });
  await admin.createConnector({ organization, provider: 'custom_api', api_key, id: 'conn_sub' });
  await admin.createConnector({
    organization: 'other',
    provider: 'openai',
    api_key,
    id: 'conn_other_org',
    access_policy: open,
  });
  const setPolicy = async (id: string, access_policy: unknown) => {
    const path = `/v1/oauth/connections/${id}`;
    const answer = await platform.call({ method: 'PUT', path, body: { access_policy } });
    expect(answer.status).toBe(200);
  };
  const openAgent = async (sprite: string) => {
    if ((await admin.findSprite({ organization, sprite })) === undefined)
      await admin.createSprite({ organization, name: sprite });
    const token = await admin.createToken({ organization, sprite });
    return await openGatewayAgent(platform.url, { sprite, token });
  };
  return { provider, platform, setPolicy, openAgent };
}

function toRequest({ method, target, headers }: GatewayCase): string {
  const hasHost = headers.some(([name]) => name.toLowerCase() === 'host');
  const lines = [...(hasHost ? [] : [['Host', 'remora']]), ...headers].map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** Policies and names that the platform does not take cannot get this far. */
function canBeStored({ policy, sprite }: GatewayCase): boolean {
  const all = typeof policy === 'object' && policy !== null && 'allow_all' in policy ? policy.allow_all : false;
  return typeof all === 'boolean' && /^[a-z0-9-]+$/.test(sprite?.name ?? '');
}

describe('the recorded gateway cases, through agent and platform to a provider', () => {
  it('reach it byte for byte or not at all', async () => {
    const { provider, setPolicy, openAgent } = await openAll();
    const agents = new Map<string, Awaited<ReturnType<typeof openAgent>>>();
    const cases = gatewayCases.filter(canBeStored);
    expect(cases.length).toBeGreaterThan(95);
    for (const entry of cases) {
      const name = entry.sprite?.name ?? 'dev-1';
      const agent = agents.get(name) ?? (await openAgent(name));
      agents.set(name, agent);
      for (const id of ['conn_1', 'conn_2', 'conn_sub']) await setPolicy(id, entry.policy);
      await agent.gateway.recover();
      const before = provider.calls.length;
      const caller = openRaw(agent.path, toRequest(entry));
      const text = await caller.until(/^HTTP\/1.1 \d{3} .*\r\n\r\n/s);
      caller.socket.destroy();
      const arrived = provider.calls.slice(before);
      expect({ id: entry.id, targets: arrived.map((call) => call.target) }).toEqual({
        id: entry.id,
        targets: entry.expect === 'allow' ? [entry.forward ?? '/v1/chat/x'] : [],
      });
      expect(text.slice(9, 10)).toBe(entry.expect === 'allow' ? '2' : '4');
      const sent = arrived[0]?.rawHeaders ?? [];
      for (const absent of entry.forward_headers_absent) expect(sent.join('\n')).not.toContain(absent);
      if (entry.expect === 'allow') expect(sent.join('\n')).toContain(`x-api-key\n${PROVIDER_KEY}`);
    }
  });
});

describe('a call from a process to a provider', () => {
  it('goes under the base path of the connector, with its credential and without that of the sprite', async () => {
    const { provider, setPolicy, openAgent } = await openAll();
    await setPolicy('conn_sub', open);
    const agent = await openAgent('dev-1');
    const headers = {
      'x-api-key': 'mine',
      connection: 'keep-alive, x-api-key',
      x_api_key: 'mine',
      content_length: '9',
    };
    const answer = await ask(agent.path, { target: '/v1/gateway/custom_api/conn_sub/models?a=%2F', headers });
    expect(answer).toMatchObject({ status: 200, text: 'ok' });
    expect(answer.headers).not.toHaveProperty('set-cookie');
    expect(provider.calls[0]?.target).toBe('/v1/models?a=%2F');
    const sent = provider.calls[0]?.rawHeaders.join('\n') ?? '';
    expect(sent).toContain(`x-api-key\n${PROVIDER_KEY}`);
    expect(sent).not.toMatch(/mine|authorization|remora|content_length/i);
  });

  it("brings the provider's own 429 back, even when it claims to be ours", async () => {
    const { setPolicy, openAgent } = await openAll();
    await setPolicy('conn_1', open);
    const agent = await openAgent('dev-1');
    const answer = await ask(agent.path, { target: '/v1/gateway/openai/conn_1/limit' });
    expect(answer).toMatchObject({ status: 429, text: 'slow' });
    expect(answer.headers).not.toHaveProperty('remora-error');
  });

  it.each(['hang', 'stream'])('ends at the provider when the process goes away (%s)', async (path) => {
    const { provider, setPolicy, openAgent } = await openAll();
    await setPolicy('conn_1', open);
    const agent = await openAgent('dev-1');
    const caller = openRaw(agent.path, `GET /v1/gateway/openai/conn_1/${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await eventually(() => provider.calls.length === 1);
    if (path === 'stream') await caller.until(/data: 1/);
    caller.socket.destroy();
    await eventually(() => provider.calls[0]?.closed === true);
  });

  it('breaks off when the provider breaks off', async () => {
    const { setPolicy, openAgent } = await openAll();
    await setPolicy('conn_1', open);
    const agent = await openAgent('dev-1');
    const caller = openRaw(agent.path, 'GET /v1/gateway/openai/conn_1/break HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(await caller.ended).toMatch(/part\r\n$/);
  });

  it('ends when the policy is changed on the platform, at once', async () => {
    const { setPolicy, openAgent } = await openAll();
    await setPolicy('conn_1', open);
    const agent = await openAgent('dev-1');
    const caller = openRaw(agent.path, 'GET /v1/gateway/openai/conn_1/stream HTTP/1.1\r\nHost: a\r\n\r\n');
    await caller.until(/data: 1/);
    await setPolicy('conn_1', { allow_all: true, blocked_endpoints: ['/stream*'] });
    expect(await caller.ended).not.toMatch(/0\r\n\r\n$/);
    await soon(() => expect(agent.gateway.openStreams()).toBe(0));
  });

  it('shows no credential in what agent and platform write down', async () => {
    const { platform, setPolicy, openAgent } = await openAll();
    await setPolicy('conn_1', { allow_all: true, blocked_endpoints: ['/blocked'] });
    const agent = await openAgent('dev-1');
    const seen: string[] = [];
    for (const path of ['ok', 'blocked', 'limit']) {
      seen.push(JSON.stringify(await ask(agent.path, { target: `/v1/gateway/openai/conn_1/${path}` })));
    }
    const broken = openRaw(agent.path, 'GET /v1/gateway/openai/conn_1/break HTTP/1.1\r\nHost: a\r\n\r\n');
    await broken.ended;
    seen.push((await readGatewayLog(agent.path)).text);
    for (const target of ['/v1/gateway/list', '/v1/oauth/connections']) {
      seen.push((await ask(agent.path, { target })).text);
    }
    expect(platform.log.length).toBeGreaterThan(0);
    const written = [...seen, agent.written(), JSON.stringify(platform.log)].join('\n');
    expect(written).toContain('conn_1');
    expect(written).not.toMatch(/canary-provider-key|remora_sprite_/);
  });
});
