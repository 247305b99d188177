// What a change of policy does to many open calls, and to a call that is being judged meanwhile.
import { describe, expect, it } from 'vitest';
import { createOpenCalls, type OpenCall } from '../../../src/agent/gateway/open-calls.ts';
import { judge, type Target } from '../../../src/agent/gateway/policies/judge-call.ts';
import type { Policies } from '../../../src/agent/gateway/policies/policies.ts';
import { policyDocument, toSnapshot } from '../../../src/agent/gateway/policies/policy-snapshot.ts';
import { createVerdicts } from '../../../src/agent/gateway/policies/verdicts.ts';
import { createRecheck, TURN_CALLS } from '../../../src/agent/gateway/recheck-open-calls.ts';
import { parseGatewayTarget } from '../../../src/core/gateway/gateway-target.ts';
import { startAgent } from '../../support/agent-process.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';
import { untilJudged } from '../../support/until-judged.ts';

const OPEN_MAX = 2_048;
const all = { allow_all: true };
const noPath = { allow_all: true, blocked_endpoints: ['*'] };

function snapshotOf(policies: Readonly<Record<string, unknown>>) {
  const connections = Object.entries(policies).map(([id, access_policy]) => ({
    id,
    provider: 'openai',
    provider_account_id: 'a',
    access_policy,
  }));
  return toSnapshot(policyDocument.parse({ sprite: { name: 'dev-1', labels: [], url: '' }, connections, list: null }));
}

function targetOf(connector: string): Target {
  const target = parseGatewayTarget('GET', `/v1/gateway/openai/${connector}/v1/x`, []);
  if (target.type === 'reject') throw new Error(target.message);
  return target;
}

/** Open calls, with those that were judged and the connectors of those that were ended, in their order. */
function openMany(counts: Readonly<Record<string, number>>) {
  const ended: string[] = [];
  const judged: OpenCall[] = [];
  const openCalls = createOpenCalls(({ connector_id }) => void ended.push(connector_id));
  for (const [connector, count] of Object.entries(counts)) {
    for (let index = 0; index < count; index += 1) openCalls.open(targetOf(connector), false, undefined);
  }
  const has = (call: OpenCall) => {
    judged.push(call);
    return openCalls.has(call);
  };
  const recheck = createRecheck({ openCalls: { ...openCalls, has }, now_ms: () => 0 });
  return { openCalls, recheck, judged, ended };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('a change of policy', () => {
  it('judges only a few open calls in each turn, and all of them in the end', async () => {
    const { openCalls, recheck, judged, ended } = openMany({ conn_1: OPEN_MAX });
    recheck.begin(snapshotOf({ conn_1: noPath }));
    let most = judged.length;
    while (ended.length < OPEN_MAX) {
      const before = judged.length;
      await turn();
      most = Math.max(most, judged.length - before);
    }
    expect(most).toBeLessThanOrEqual(TURN_CALLS);
    expect(judged).toHaveLength(OPEN_MAX);
    expect(openCalls.size).toBe(0);
  });

  it('judges no more in a turn that has several of them', async () => {
    const { recheck, judged } = openMany({ conn_1: OPEN_MAX });
    for (let change = 0; change < 5; change += 1) recheck.begin(snapshotOf({ conn_1: all }));
    expect(judged.length).toBeLessThanOrEqual(TURN_CALLS);
  });

  it('judges no further call after one that took long', async () => {
    const { openCalls, ended } = openMany({ conn_1: 100 });
    let now_ms = 0;
    const recheck = createRecheck({ openCalls, now_ms: () => (now_ms += 2) });
    recheck.begin(snapshotOf({ conn_1: noPath }));
    expect(ended.length).toBeLessThan(5);
  });

  it('ends the calls of a connector that was taken away before it reads the path of any other', async () => {
    const { recheck, judged, ended } = openMany({ taken: 300, conn_1: 1_000, gone: 300 });
    recheck.begin(snapshotOf({ taken: {}, conn_1: all }));
    await soon(() => expect(judged).toHaveLength(1_600));
    expect(judged.slice(0, 600).map(({ target }) => target.connector_id)).not.toContain('conn_1');
    expect(ended).toHaveLength(600);
  });

  it('that is newer counts for the calls that were judged already, and for those that were not', async () => {
    const { openCalls, recheck } = openMany({ conn_1: 500, conn_2: 500 });
    recheck.begin(snapshotOf({ conn_1: all, conn_2: noPath }));
    await turn();
    recheck.begin(snapshotOf({ conn_1: noPath, conn_2: all }));
    await soon(() => expect(openCalls.list().every(({ target }) => target.connector_id === 'conn_2')).toBe(true));
    expect(openCalls.size).toBeGreaterThan(0);
  });

  it('reaches every call, however soon the next change comes', async () => {
    const { recheck, judged } = openMany({ conn_1: OPEN_MAX });
    for (let change = 0; change < 200 && new Set(judged).size < OPEN_MAX; change += 1) {
      recheck.begin(snapshotOf({ conn_1: all, [`other_${change}`]: all }));
      await turn();
    }
    expect(new Set(judged).size).toBe(OPEN_MAX);
  });

  it('meets a call that was judged before it and is opened after it', () => {
    let snapshot = snapshotOf({ conn_1: all });
    const before = judge(snapshot, targetOf('conn_1'));
    const policies = {
      get snapshot() {
        return snapshot;
      },
    } as Policies;
    const verdicts = createVerdicts(policies);
    expect(verdicts.confirm(before)).toBe(before);
    snapshot = snapshotOf({ conn_1: noPath });
    expect(verdicts.confirm(before)).toMatchObject({ type: 'deny', code: 'endpoint_blocked' });
  });
});

it('ends the calls of two hundred streams that the agent may not go on with, and leaves the others', async () => {
  const connectorsOf = (access_policy: unknown) => [
    { id: 'conn_1', provider: 'openai', access_policy },
    { id: 'conn_2', provider: 'openai', access_policy: all },
  ];
  const platform = await openStandInPlatform({
    connectors: connectorsOf(all),
    version: 'a',
    onGateway: (_request, response) => response.write('data: 1\n\n'),
  });
  const agent = await startAgent({
    REMORA_BASE_URL: platform.url,
    REMORA_TOKEN: 'canary-token',
    REMORA_SPRITE: 'dev-1',
  });
  await untilJudged(agent);
  await soon(() => expect(platform.watchers).toBe(1));
  const openStreams = (id: string) =>
    Array.from({ length: 200 }, () =>
      openRaw(agent.socket, `GET /v1/gateway/openai/${id}/v1/x HTTP/1.1\r\nHost: a\r\n\r\n`),
    );
  const streams = { conn_1: openStreams('conn_1'), conn_2: openStreams('conn_2') };
  await Promise.all(Object.values(streams).flatMap((some) => some.map((stream) => stream.until(/data: 1/))));
  platform.state.connectors = connectorsOf(noPath);
  platform.change('b');
  for (const text of await Promise.all(streams.conn_1.map(({ ended }) => ended)))
    expect(text).not.toMatch(/0\r\n\r\n$/);
  expect(streams.conn_2.filter(({ socket }) => socket.destroyed)).toEqual([]);
  expect((await agent.get('/v1/gateway/openai/conn_1/v1/x')).status).toBe(403);
});
