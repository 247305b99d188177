// The rules of the gateway in the daemon as it is shipped, a process of built code: the recorded cases, requests that are nearly right, limits,
// calls over a resume, and the log of calls. What the other tests show of the same rules runs in their own process.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fuzzedConnectors } from '../../soak/gateway-fuzz/connectors.ts';
import { connectorOf, findBreach } from '../../soak/gateway-fuzz/oracle.ts';
import { type FuzzedRequest, toBytes, toFuzzedRequest } from '../../soak/gateway-fuzz/requests.ts';
import { type AgentProcess, startAgent } from '../../support/agent-process.ts';
import { openOnce } from '../../support/at-end.ts';
import { createDice } from '../../support/dice.ts';
import { SPRITE_TOKEN } from '../../support/gateway-agent.ts';
import { gatewayCases } from '../../support/gateway-corpus.ts';
import { readGatewayLog } from '../../support/gateway-log.ts';
import { playGatewayCase, toStandInState } from '../../support/play-gateway-case.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { openStandInPlatform, type StandInPlatform, type StandInState } from '../../support/stand-in-platform.ts';
import { untilJudged } from '../../support/until-judged.ts';

/** Always the same requests: test/soak draws others. */
const SEED = process.env.REMORA_FUZZ_SEED ?? '5eed0001';
const COUNT = 512;
const AT_ONCE = 32;
/** A body that was announced and never sent is waited for, and rightly so. */
const ANSWER_MS = 700;
const ANSWER = /^(?:HTTP\/1\.1 1\d\d .*?\r\n\r\n)*HTTP\/1\.1 ([1-5]\d\d) /s;

const access_policy = { allow_all: true, blocked_endpoints: ['/blocked'] };
const connectors = ['conn_1', 'conn_2'].map((id) => ({ id, provider: 'openai', access_policy }));
const one = '/v1/gateway/openai/conn_1/v1/x';
const other = '/v1/gateway/openai/conn_2/v1/x';

interface Place {
  readonly platform: StandInPlatform;
  readonly agent: AgentProcess;
}

async function openPlace(env: Readonly<Record<string, string>>): Promise<Place> {
  const platform = await openStandInPlatform({ connectors, version: '0' });
  const agent = await startAgent({
    REMORA_BASE_URL: platform.url,
    REMORA_TOKEN: SPRITE_TOKEN,
    REMORA_SPRITE: 'dev-1',
    ...env,
  });
  await untilJudged(agent);
  return { platform, agent };
}

let changes = 0;

/** The agent has what the platform says now when it knows a connector that was not there before. */
async function tell({ platform, agent }: Place, state: Pick<StandInState, 'sprite' | 'connectors'>): Promise<void> {
  changes += 1;
  const mark = { id: `mark_${changes}`, provider: 'openai', access_policy };
  await soon(() => expect(platform.watchers).toBe(1));
  Object.assign(platform.state, { ...state, connectors: [...state.connectors, mark] });
  platform.change(String(changes));
  const asked = { provider: 'openai', connector_id: mark.id, path: '/' };
  await soon(async () => {
    const answer = await agent.ask({
      method: 'POST',
      target: '/v1/gateway/explain',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(asked),
    });
    expect(answer.json).toMatchObject({ decision: 'allow' });
  });
}

describe('the daemon that is shipped', () => {
  const opened = openOnce(() => openPlace({ REMORA_GATEWAY_RATE: '1000000' }));

  it('gives the verdict of every recorded case', async () => {
    const { platform, agent } = opened();
    let told = '';
    for (const entry of gatewayCases) {
      const state = toStandInState(entry);
      const text = JSON.stringify(state);
      if (text !== told) await tell(opened(), state);
      told = text;
      await playGatewayCase(entry, { path: agent.socket, platform }).catch((error: unknown) => {
        throw new Error(entry.id, { cause: error });
      });
    }
  });

  it(`lets nothing through that nobody sent, or that its policy forbids (REMORA_FUZZ_SEED=${SEED})`, async () => {
    const { platform, agent } = opened();
    await tell(opened(), {
      sprite: { name: 'dev-1', labels: ['blue'] },
      connectors: fuzzedConnectors.map(({ id, access_policy }) => ({ id, provider: 'openai', access_policy })),
    });
    platform.state.onGateway = (request, response) => void request.resume().once('end', () => response.end('ok'));
    const dice = createDice(SEED);
    const sent = new Map<string, FuzzedRequest>();
    const statuses = new Map<string, string>();
    const before = platform.calls.length;
    async function send(id: string): Promise<void> {
      const fuzzed = toFuzzedRequest(id, [], dice);
      sent.set(id, fuzzed);
      const caller = openRaw(agent.socket, toBytes(fuzzed));
      const late = new AbortController();
      const over = sleep(ANSWER_MS, undefined, { signal: late.signal }).catch(() => undefined);
      await Promise.race([caller.until(ANSWER).catch(() => undefined), over]);
      late.abort();
      caller.socket.destroy();
      statuses.set(id, ANSWER.exec(caller.text)?.[1] ?? 'none');
    }
    for (let count = 0; count < COUNT; count += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => send(String(count + index))));
    }
    const status = (await agent.get('/v1/status')).json as { generation: number; incarnation: string };
    const injected = {
      authorization: `Bearer ${SPRITE_TOKEN}`,
      'remora-generation': String(status.generation),
      'remora-incarnation': status.incarnation,
    };
    const seen = new Set<string>();
    for (const { method, target, rawHeaders } of platform.calls.slice(before)) {
      const id = rawHeaders[rawHeaders.indexOf('X-Fuzz-Id') + 1] ?? '';
      const path = connectorOf(target)?.path ?? `not a target of the gateway: ${target}`;
      const breach =
        findBreach(sent.get(id), { method, path, rawHeaders, injected }) ??
        (seen.has(id) ? 'it arrived twice' : undefined);
      const answered = statuses.get(id) ?? '';
      expect({ breach, refused: answered.startsWith('4') ? answered : undefined, sent: sent.get(id) }).toMatchObject({
        breach: undefined,
        refused: undefined,
      });
      seen.add(id);
    }
    const all = [...statuses.values()];
    expect(all.filter((status) => status === '500')).toEqual([]);
    // A round in which nothing passes, or nothing is refused, proves nothing.
    expect(seen.size).toBeGreaterThan(COUNT / 64);
    expect(all.filter((status) => status.startsWith('4')).length).toBeGreaterThan(COUNT / 64);
  });

  it('sends no call twice over a resume, and goes on under the next generation', async () => {
    const { platform, agent } = opened();
    await tell(opened(), { sprite: { name: 'dev-1', labels: [] }, connectors });
    const before = platform.calls.length;
    platform.state.onGateway = (request) => void request.resume();
    // A call of the tests before may still arrive.
    const target = `${one}/over-a-resume`;
    const sent = () => platform.calls.slice(before).filter((call) => call.target === target);
    const waiting = agent.ask({ method: 'POST', target, body: 'work' });
    await soon(() => expect(sent()).toHaveLength(1));
    expect((await agent.ask({ method: 'POST', target: '/v1/machine/resumed' })).status).toBeLessThan(300);
    expect(await waiting).toMatchObject({ status: 502, json: { error: 'outcome_unknown' } });
    platform.state.onGateway = (_request, response) => response.end('ok');
    expect((await agent.ask({ target })).status).toBe(200);
    const calls = sent();
    expect(calls.map(({ method }) => method)).toEqual(['POST', 'GET']);
    const [first, next] = calls.map(({ rawHeaders }) =>
      Number(rawHeaders[rawHeaders.indexOf('remora-generation') + 1]),
    );
    expect(next).toBe((first ?? 0) + 1);
  });
});

describe('the daemon that is shipped, with limits', () => {
  const opened = openOnce(() => openPlace({ REMORA_GATEWAY_IN_FLIGHT: '1', REMORA_TARGET_LIMIT: '100' }));

  it('keeps to them, and leaves other connectors alone', async () => {
    const { platform, agent } = opened();
    platform.state.onGateway = (request) => void request.resume();
    const held = openRaw(agent.socket, `GET ${one} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await soon(() => expect(platform.calls.map(({ target }) => target)).toEqual([one]));
    platform.state.onGateway = (_request, response) => response.end('ok');
    const refused = await agent.ask({ target: one });
    expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_requests' } });
    expect(refused.headers).toMatchObject({ 'remora-error': 'too_many_requests', 'retry-after': '1' });
    expect((await agent.ask({ target: other })).status).toBe(200);
    held.socket.destroy();
    await soon(async () => expect((await agent.ask({ target: one })).status).toBe(200));
    expect((await agent.ask({ target: other.padEnd(101, 'x') })).json).toMatchObject({ error: 'target_too_long' });
    expect((await agent.ask({ target: '/v1/gateway/openai/conn_1/blocked' })).json).toMatchObject({
      error: 'endpoint_blocked',
    });
  });

  it('has each of its calls in the log, also after it was started again', async () => {
    const { platform, agent } = await openPlace({ REMORA_GATEWAY_IN_FLIGHT: '1' });
    const blocked = '/v1/gateway/openai/conn_1/blocked';
    expect((await agent.ask({ target: one })).status).toBe(200);
    expect((await agent.ask({ method: 'POST', target: other, body: 'x' })).status).toBe(200);
    expect((await agent.ask({ target: blocked })).status).toBe(403);
    const read = async ({ socket }: AgentProcess) => {
      const { records } = await readGatewayLog(socket);
      return records.map(({ seq, method, connector_id, path, decision, status }) =>
        [seq, method, connector_id, path, decision, status].join(' '),
      );
    };
    const expected = [
      '1 GET conn_1 /v1/x allow 200',
      '2 POST conn_2 /v1/x allow 200',
      '3 GET conn_1 /blocked deny 403',
    ];
    await soon(async () => expect(await read(agent)).toEqual(expected));
    agent.child.kill('SIGTERM');
    expect(await agent.ended).toBe(0);
    const next = await startAgent(
      { REMORA_BASE_URL: platform.url, REMORA_TOKEN: SPRITE_TOKEN, REMORA_SPRITE: 'dev-1' },
      agent.dir,
    );
    expect(await read(next)).toEqual(expected);
  });
});
