// The limit on the headers of an answer, at the agent: its own setting and the time that the platform is given to answer first.
import { expect, it } from 'vitest';
import { ask } from '../support/ask.ts';
import { openGatewayAgent } from '../support/gateway-agent.ts';
import { openStandInPlatform } from '../support/stand-in-platform.ts';

const GRACE_MS = 10_000;

it('an answer that does not begin in time is a 504, and is not asked for again', async () => {
  const platform = await openStandInPlatform({
    connectors: [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }],
    onGateway: (request) => void request.resume(),
  });
  const agent = await openGatewayAgent(platform.url, { headersTimeout_ms: 1_000 });
  const started_ms = performance.now();
  const answer = await ask(agent.path, { target: '/v1/gateway/openai/conn_1/x' });
  expect(answer).toMatchObject({ status: 504, json: { error: 'upstream_timeout' } });
  const took_ms = performance.now() - started_ms;
  expect(took_ms).toBeGreaterThan(GRACE_MS);
  expect(took_ms).toBeLessThan(GRACE_MS + 4_000);
  expect(platform.calls).toHaveLength(1);
});
