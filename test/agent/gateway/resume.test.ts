// Calls that are in flight while the machine is suspended and resumed.
import { describe, expect, it } from 'vitest';
import { ask } from '../../support/ask.ts';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';

const connectors = [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }];
const target = '/v1/gateway/openai/conn_1/v1/x';

async function openWaiting() {
  let isWaiting = true;
  const platform = await openStandInPlatform({
    connectors,
    onGateway: (request, response) => {
      request.resume();
      if (!isWaiting) response.end('ok');
    },
  });
  const agent = await openGatewayAgent(platform.url);
  const resume = async () => {
    isWaiting = false;
    await agent.upstream.replace();
    await agent.gateway.recover();
  };
  return { platform, agent, resume };
}

describe('at a resume, a call that was sent and has no answer', () => {
  it.each([
    ['POST', 'small'],
    ['POST', 'x'.repeat(200_000)],
    ['DELETE', undefined],
    ['PATCH', 'a'],
  ])('as %s is outcome_unknown, once, and never sent again', async (method, body) => {
    const { platform, agent, resume } = await openWaiting();
    const waiting = ask(agent.path, { method, target, ...(body === undefined ? {} : { body }) });
    await soon(() => expect(platform.calls).toHaveLength(1));
    await resume();
    const answer = await waiting;
    expect(answer).toMatchObject({ status: 502, json: { error: 'outcome_unknown' } });
    expect(answer.headers).toMatchObject({ 'remora-error': 'outcome_unknown' });
    expect((await ask(agent.path, { target })).status).toBe(200);
    expect(platform.calls.map((call) => call.method)).toEqual([method, 'GET']);
    expect(await readGatewayLog(agent.path)).toMatchObject({
      records: [{ method, status: 502, code: 'outcome_unknown', ended: null }, {}],
    });
  });

  it.each(['GET', 'HEAD'])('as %s is sent once more', async (method) => {
    const { platform, agent, resume } = await openWaiting();
    const waiting = ask(agent.path, { method, target });
    await soon(() => expect(platform.calls).toHaveLength(1));
    await resume();
    expect((await waiting).status).toBe(200);
    expect(platform.calls.map((call) => call.method)).toEqual([method, method]);
  });
});

it('a call that is sent once more waits at the gate, and names the machine that it is by then', async () => {
  let isWaiting = true;
  const platform = await openStandInPlatform({
    connectors,
    onGateway: (_request, response) => void (isWaiting ? undefined : response.end('ok')),
  });
  const gate = Promise.withResolvers<void>();
  let identity = { 'remora-generation': '1' };
  let isAtGate = false;
  const agent = await openGatewayAgent(platform.url, {
    identity: () => identity,
    async gate() {
      if (isWaiting) return;
      isAtGate = true;
      await gate.promise;
    },
    early: false,
  });
  const waiting = ask(agent.path, { target });
  await soon(() => expect(platform.calls).toHaveLength(1));
  isWaiting = false;
  await agent.upstream.replace();
  await soon(() => expect(isAtGate).toBe(true));
  expect(platform.calls).toHaveLength(1);
  identity = { 'remora-generation': '2' };
  gate.resolve();
  expect((await waiting).status).toBe(200);
  const generations = platform.calls.map(({ rawHeaders }) => rawHeaders[rawHeaders.indexOf('remora-generation') + 1]);
  expect(generations).toEqual(['1', '2']);
});

it('an answer that had begun breaks off', async () => {
  const platform = await openStandInPlatform({ connectors, onGateway: (_request, response) => response.write('part') });
  const agent = await openGatewayAgent(platform.url);
  const caller = openRaw(agent.path, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await caller.until(/part/);
  await agent.upstream.replace();
  expect(await caller.ended).toMatch(/part\r\n$/);
  expect(platform.calls).toHaveLength(1);
});
