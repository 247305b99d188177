import { describe, expect, it } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import { ask } from '../../support/ask.ts';
import { startEchoProvider } from '../../support/echo-provider.ts';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { openTestPlatform } from '../../support/open-platform.ts';

const PROVIDER_KEY = 'canary-provider-key-0815';

async function openBoth() {
  const provider = await startEchoProvider();
  const injection = { in: 'header', name: 'x-api-key', prefix: '' } as const;
  const platform = await openTestPlatform({ catalogue: [provider.entry('openai', { injection })] });
  const organization = 'acme';
  for (const [id, allow_all] of [
    ['conn_1', true],
    ['conn_2', false],
  ] as const) {
    const api_key = new Secret(PROVIDER_KEY);
    await platform.admin.createConnector({
      organization,
      provider: 'openai',
      api_key,
      id,
      access_policy: { allow_all },
    });
  }
  await platform.admin.createSprite({ organization, name: 'dev-1' });
  const token = await platform.admin.createToken({ organization, sprite: 'dev-1' });
  const agent = await openGatewayAgent(platform.url, { token });
  await agent.gateway.recover();
  return { provider, platform, agent };
}

describe('what a caller can find out without knowing anything', () => {
  it('is a guide with lines for this socket, and the providers of the platform at the same addresses', async () => {
    const { agent } = await openBoth();
    const guide = await ask(agent.path, { target: '/v1/gateway/guide' });
    expect(guide.headers['content-type']).toBe('text/markdown; charset=utf-8');
    expect(guide.text).toContain('`http://remora/v1/gateway/openai/conn_1`');
    expect(guide.text).toContain('curl --unix-socket /run/remora/remora.sock');
    expect(guide.text).not.toContain('conn_2');
    const { json } = await ask(agent.path, { target: '/v1/gateway/providers?provider=openai' });
    expect(json).toMatchObject({
      providers: [{ gateway_base_url: 'http://remora/v1/gateway/openai/{connector_id}', connectors: ['conn_1'] }],
    });
  });

  it('is the verdict of the platform, with the address behind it and no credential', async () => {
    const { agent, provider } = await openBoth();
    const call = { provider: 'openai', connector_id: 'conn_1', path: '/v1/models' };
    const explain = (body: object) =>
      ask(agent.path, {
        method: 'POST',
        target: '/v1/gateway/explain',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    expect((await explain(call)).json).not.toHaveProperty('platform');
    const asked = await explain({ ...call, platform: true });
    expect(asked.json).toMatchObject({
      decision: 'allow',
      platform: {
        decision: 'allow',
        forwarded: {
          url: `${provider.origin}/v1/models`,
          headers: [{ name: 'x-api-key', value: '(credential)' }],
        },
      },
    });
    expect(asked.text).not.toContain(PROVIDER_KEY);
    expect(provider.requests).toEqual([]);
  });

  it('says so when the platform is away, and explains on without it', async () => {
    const { agent, platform } = await openBoth();
    await platform[Symbol.asyncDispose]();
    const body = JSON.stringify({ provider: 'openai', connector_id: 'conn_1', path: '/x', platform: true });
    const headers = { 'content-type': 'application/json' };
    const answer = await ask(agent.path, { method: 'POST', target: '/v1/gateway/explain', headers, body });
    expect([answer.status, answer.json]).toMatchObject([502, { error: 'upstream_failed' }]);
    expect((await ask(agent.path, { target: '/v1/gateway/providers' })).status).toBe(502);
    expect((await ask(agent.path, { target: '/v1/gateway/guide' })).status).toBe(200);
  });
});
