import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { gatewayToken } from '../../../src/contract/local/gateway.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { ask } from '../../support/ask.ts';
import { type GatewayAgent, openGatewayAgent } from '../../support/gateway-agent.ts';
import { gatewayCases } from '../../support/gateway-corpus.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';
import { tempDir } from '../../support/temp-dir.ts';

const policy = { allow_all: true, allowed_endpoints: ['/v1/chat/*', '/v1/models'], blocked_endpoints: ['/v1/admin*'] };
const connectors = [
  { id: 'conn_1', provider: 'openai', access_policy: policy },
  { id: 'conn_2', provider: 'openai', access_policy: { name_prefix: 'prod-' } },
];

async function openBoth() {
  const platform = await openStandInPlatform({ connectors, sprite: { name: 'dev-1', labels: ['a'] } });
  return { platform, agent: await openGatewayAgent(platform.url) };
}

function post(agent: GatewayAgent, target: string, body?: object) {
  const headers = { 'content-type': 'application/json' };
  return ask(agent.path, {
    method: 'POST',
    target,
    ...(body === undefined ? {} : { headers, body: JSON.stringify(body) }),
  });
}

describe('GET /v1/gateway/list', () => {
  it('shows what this sprite may use, with a line that works here', async () => {
    const { agent } = await openBoth();
    const answer = await ask(agent.path, { target: '/v1/gateway/list' });
    expect(answer.json).toEqual({
      connections: [
        {
          id: 'conn_1',
          provider: 'openai',
          display_name: 'The openai',
          gateway_base_url: 'http://remora/v1/gateway/openai/conn_1',
          base_urls: { socket: 'http://remora/v1/gateway/openai/conn_1', tcp: null },
          usage_snippet:
            "curl --unix-socket /run/remora/remora.sock 'http://remora/v1/gateway/openai/conn_1/v1/models'",
          snippets: {
            curl: "curl --unix-socket /run/remora/remora.sock 'http://remora/v1/gateway/openai/conn_1/v1/models'",
            python: expect.stringContaining('connect("/run/remora/remora.sock")'),
            node: expect.stringContaining('socketPath: "/run/remora/remora.sock"'),
          },
        },
      ],
      available: [{ provider: 'github', display_name: 'GitHub', setup_url: 'https://p.test/s' }],
    });
    expect(answer.headers.age).toMatch(/^\d+$/);
  });

  it('is still shown while the platform is away', async () => {
    const { agent, platform } = await openBoth();
    await agent.gateway.recover();
    platform.state.mode = 'refuse';
    await agent.gateway.recover();
    expect((await ask(agent.path, { target: '/v1/gateway/list' })).status).toBe(200);
  });
});

describe('POST /v1/gateway/explain', () => {
  it.each([
    [
      { path: '/v1/chat/x?y', headers: { Accept: '*/*', 'X-Api-Key': 'mine', 'x-keep': '1', connection: 'X-Keep' } },
      {
        decision: 'allow',
        rule: '/v1/chat/*',
        reading: '/v1/chat/x',
        canonical: '/v1/chat/x',
        forwarded: { method: 'GET', path: '/v1/chat/x?y', headers: ['Accept'] },
      },
    ],
    [
      { path: '/v1/chat//%78;v=1' },
      { decision: 'allow', canonical: '/v1/chat/x', forwarded: { path: '/v1/chat//%78;v=1' } },
    ],
    [
      { path: '/v1%2fADMIN/x' },
      { decision: 'deny', code: 'endpoint_blocked', rule: '/v1/admin*', reading: '/v1/ADMIN/x', forwarded: null },
    ],
    [{ path: '/v2' }, { decision: 'deny', code: 'endpoint_not_allowed', rule: null, reading: '/v2' }],
    [{ path: '/v1/%2e%2e/x' }, { decision: 'reject', code: 'invalid_target', rule: null, reading: null }],
    [
      { path: '/v1/chat/x', method: 'TRACE' },
      { decision: 'reject', code: 'method_not_allowed' },
    ],
    [
      { path: '/x', connector_id: 'conn_9' },
      { decision: 'reject', code: 'unknown_connector', policy: null },
    ],
    [
      { path: '/x', connector_id: 'conn_1/v1' },
      { decision: 'reject', code: 'invalid_target' },
    ],
    [
      { path: '/x', connector_id: 'conn_2' },
      { decision: 'deny', code: 'connection_denied' },
    ],
  ])('%j', async (asked, expected) => {
    const { agent, platform } = await openBoth();
    const answer = await post(agent, '/v1/gateway/explain', { provider: 'openai', connector_id: 'conn_1', ...asked });
    expect(answer).toMatchObject({ status: 200, json: expected });
    expect(platform.calls).toHaveLength(0);
  });

  it('shows the sprite, the policy and its age', async () => {
    const { agent } = await openBoth();
    const asked = { provider: 'openai', connector_id: 'conn_1', path: '/v1/models' };
    expect((await post(agent, '/v1/gateway/explain', asked)).json).toMatchObject({
      sprite: { name: 'dev-1', labels: ['a'] },
      policy,
      policy_age_ms: expect.any(Number),
    });
  });

  it('refuses a path without a slash', async () => {
    const { agent } = await openBoth();
    const asked = { provider: 'openai', connector_id: 'conn_1', path: 'v1/models' };
    expect(await post(agent, '/v1/gateway/explain', asked)).toMatchObject({
      status: 400,
      json: { details: { fields: [{ field: 'body.path' }] } },
    });
  });

  it('says that the policies are missing instead of failing', async () => {
    const agent = await openGatewayAgent('http://127.0.0.1:1');
    const asked = { provider: 'openai', connector_id: 'conn_1', path: '/v1/models' };
    expect(await post(agent, '/v1/gateway/explain', asked)).toMatchObject({
      status: 200,
      json: { decision: 'reject', code: 'policy_unavailable', sprite: null, policy_age_ms: null },
    });
  });

  it('agrees with the call for every recorded path', async () => {
    const { agent } = await openBoth();
    const prefix = '/v1/gateway/openai/conn_1/';
    const paths = gatewayCases
      .filter(({ target }) => target.startsWith(prefix) && /^[\x21-\x7e]*$/.test(target))
      .map(({ target }) => target.slice(prefix.length - 1));
    expect(paths.length).toBeGreaterThan(60);
    for (const path of paths) {
      const explained = await post(agent, '/v1/gateway/explain', { provider: 'openai', connector_id: 'conn_1', path });
      const called = await ask(agent.path, { target: prefix.slice(0, -1) + path });
      const code = called.headers['remora-error'];
      expect({ path, code }).toEqual({ path, code: (explained.json as { code?: string }).code });
    }
  });
});

describe('connectors as the platform shows them', () => {
  it('are listed, filtered, read, and without anything secret', async () => {
    const { agent } = await openBoth();
    const all = await ask(agent.path, { target: '/v1/oauth/connections' });
    expect(all.json).toMatchObject({ connections: [{ id: 'conn_1' }, { id: 'conn_2' }] });
    expect(all.text).not.toContain('leaked');
    const none = await ask(agent.path, { target: '/v1/oauth/connections?provider=github' });
    expect(none.json).toEqual({ connections: [] });
    const one = await ask(agent.path, { target: '/v1/oauth/connections/conn_1' });
    expect(one.json).toMatchObject({ connection: { id: 'conn_1', access_policy: policy } });
    expect((await ask(agent.path, { target: '/v1/oauth/connections/conn_9' })).status).toBe(404);
  });
});

describe('tokens for the loopback listener', () => {
  it('open one connector or all, until they expire, and survive a restart', async () => {
    const databasePath = join(tempDir(), 'agent.db');
    const platform = await openStandInPlatform({ connectors });
    let later_ms = 0;
    const clock = { ...systemClock, wall_ms: () => systemClock.wall_ms() + later_ms };
    const agent = await openGatewayAgent(platform.url, { databasePath, clock });
    await ask(agent.path, { target: '/v1/gateway/list' });
    const one = (await post(agent, '/v1/gateway/tokens', { connector_id: 'conn_1', expire: '10m' })).json as {
      token: string;
    };
    const all = (await post(agent, '/v1/gateway/tokens')).json as { token: string };
    expect(agent.gateway.verifyToken(one.token)).toMatchObject({ connector_id: 'conn_1' });
    expect(agent.gateway.verifyToken(all.token)).not.toHaveProperty('connector_id');
    expect(agent.gateway.verifyToken(`${all.token}x`)).toBeUndefined();
    expect(JSON.stringify(agent.db.prepare('SELECT * FROM gateway_tokens').all())).not.toContain(one.token);
    const second = await openGatewayAgent(platform.url, { databasePath, clock });
    expect(second.gateway.verifyToken(one.token)).toMatchObject({ connector_id: 'conn_1' });
    later_ms = 11 * 60_000;
    expect(second.gateway.verifyToken(one.token)).toBeUndefined();
    expect(second.gateway.verifyToken(all.token)).toMatchObject({ until: { aborted: false } });
  });

  it('are not made for a connector that does not exist', async () => {
    const { agent } = await openBoth();
    await ask(agent.path, { target: '/v1/gateway/list' });
    const answer = await post(agent, '/v1/gateway/tokens', { connector_id: 'conn_9' });
    expect(answer).toMatchObject({ status: 404, json: { error: 'unknown_connector' } });
  });

  it('live for 30 days at most, and a longer life is refused with the limit', async () => {
    const { agent } = await openBoth();
    const made = (await post(agent, '/v1/gateway/tokens', { expire: '720h' })).json as { expires_at: string };
    expect(Date.parse(made.expires_at) - Date.now()).toBeLessThanOrEqual(30 * 24 * 3_600_000);
    const refused = await post(agent, '/v1/gateway/tokens', { expire: '721h' });
    expect(refused).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect(refused.text).toContain('30 days');
  });
});

describe('GET /v1/gateway/log', () => {
  it('has one record a call, with what decided and without query, header or body', async () => {
    const { agent } = await openBoth();
    await post(agent, '/v1/gateway/openai/conn_1/v1/chat/a?key=hidden', { secret: 'hidden' });
    await ask(agent.path, { target: '/v1/gateway/openai/conn_1/v1/admin', headers: { 'x-h': 'hidden' } });
    await ask(agent.path, { target: '/v1/gateway/openai/conn_1/v1/%2e' });
    const log = await readGatewayLog(agent.path);
    expect(log.text).not.toContain('hidden');
    expect(log).toMatchObject({
      records: [
        {
          method: 'POST',
          path: '/v1/chat/a',
          decision: 'allow',
          rule: '/v1/chat/*',
          status: 200,
          ended: 'complete',
          request_bytes: 19,
          response_bytes: 2,
          code: null,
        },
        { path: '/v1/admin', decision: 'deny', rule: '/v1/admin*', status: 403, code: 'endpoint_blocked', ended: null },
        { path: '/v1/gateway/openai/conn_1/v1/%2e', decision: 'reject', status: 400, code: 'invalid_target' },
      ],
      next: 3,
      lost: 0,
    });
    const page = await readGatewayLog(agent.path, '?limit=1&after=1');
    expect(page.records.map(({ seq }) => seq)).toEqual([2]);
    const newest = await readGatewayLog(agent.path, '?limit=2');
    expect(newest.records.map(({ seq }) => seq)).toEqual([2, 3]);
    expect(await readGatewayLog(agent.path, '?after=3')).toMatchObject({ records: [], next: null, lost: 0 });
  });
});

describe('capability tokens', () => {
  it('are listed without their text, and end when they are revoked', async () => {
    const { agent } = await openBoth();
    const made = await post(agent, '/v1/gateway/tokens', { connector_id: 'conn_1', expire: '5m' });
    const { id, token, expires_at } = gatewayToken.parse(made.json);
    const all = gatewayToken.parse((await post(agent, '/v1/gateway/tokens', { expire: '1m' })).json);
    expect((await ask(agent.path, { target: '/v1/gateway/tokens' })).json).toEqual({
      tokens: [
        { id: all.id, connector_id: null, expires_at: all.expires_at },
        { id, connector_id: 'conn_1', expires_at },
      ],
    });
    expect(agent.gateway.verifyToken(token)).toMatchObject({ connector_id: 'conn_1' });
    const target = `/v1/gateway/tokens/${id}`;
    expect((await ask(agent.path, { method: 'DELETE', target })).status).toBe(204);
    expect(agent.gateway.verifyToken(token)).toBeUndefined();
    expect(await ask(agent.path, { method: 'DELETE', target })).toMatchObject({ status: 404 });
    expect(JSON.stringify(agent.db.prepare('SELECT * FROM gateway_tokens').all())).not.toContain(id);
  });
});
