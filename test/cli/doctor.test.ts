// `remora doctor` before a real agent whose settings lead nowhere.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type AgentStatus, toAdvice, toSwitches } from '../../src/cli/advice.ts';
import { partNames } from '../../src/contract/local/status.ts';
import { startAgent } from '../support/agent-process.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { runHere } from '../support/run-here.ts';
import { tempDir } from '../support/temp-dir.ts';

it('says of each problem what to do, and of what is off how it is switched on', async () => {
  const settings = { REMORA_NODE_URL: 'http://127.0.0.1:1', REMORA_NONSENSE: '1' };
  const { socket } = await startAgent(settings);
  const ask = (...words: string[]) => runHere(['doctor', '--socket', socket, ...words]);
  const run = await eventually(async () => {
    const answer = await ask();
    return /^replication: .*\n {2}→ .*REMORA_NODE_URL/m.test(answer.out) ? answer : undefined;
  });
  expect(run.code).toBe(1);
  expect(run.out).toMatch(/REMORA_NONSENSE: .*\n {2}→ correct it or take it out/);
  expect(run.out).toMatch(/^gateway is off; REMORA_BASE_URL and a token switches it on$/m);
  const { problems } = JSON.parse((await ask('--json')).out);
  expect(problems).toContainEqual(expect.objectContaining({ about: 'replication' }));
});

it('names why the platform gives no channel, and what to do', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(403, { 'remora-error': 'forbidden' }).end('{"error":"forbidden","message":"no"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => void server.close().closeAllConnections());
  const { socket } = await startAgent({
    REMORA_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ REMORA_TOKEN: 'token', REMORA_APP: 'acme', REMORA_MACHINE: 'm-1', REMORA_SPRITE: 'dev-1' },
  });
  const run = await eventually(async () => {
    const answer = await runHere(['doctor', '--socket', socket]);
    return answer.out.includes('gives this agent no channel') ? answer : undefined;
  });
  expect(run.code).toBe(1);
  expect(run.out).toMatch(
    /^channel: the platform gives this agent no channel: .*403 forbidden\n {2}→ .*restart the agent/m,
  );
  expect(run.out).not.toContain('channel is off');
});

it.each([
  ['waiting', 1, false],
  ['dialling', 1, false],
  ['off', 0, true],
])('takes a channel that is off for a problem where its settings are there: %s', (state, problems, isOff) => {
  const since = '2026-01-31T10:00:00.000Z';
  const parts = { channel: { state: 'off', reason: 'r', since }, hooks: { state: 'off', since } };
  const status = { state: 'awake', parts, warnings: [], details: { channel: { state } } } as unknown as AgentStatus;
  expect(toAdvice(status)).toHaveLength(problems);
  expect(toSwitches(status).map(({ part }) => part)).toEqual(isOff ? ['channel', 'hooks'] : ['hooks']);
});

it('says what to look at when nobody serves', async () => {
  const run = await runHere(['doctor', '--socket', join(tempDir(), 'none.sock')]);
  expect(run).toMatchObject({ code: 3, err: expect.stringMatching(/is it running\?.*\n {2}→ .*journalctl -u remora/) });
});

it('has advice for each part that fails, the worst first', () => {
  const since = '2026-01-31T10:00:00.000Z';
  const parts = Object.fromEntries(
    partNames.map((name, index) => [name, { state: index % 2 === 0 ? 'degraded' : 'failed', reason: 'r', since }]),
  );
  const status = { state: 'fenced', parts, warnings: [{ setting: 'x', message: 'm' }] } as unknown;
  const advice = toAdvice(status as Parameters<typeof toAdvice>[0]);
  expect(advice.map(({ about }) => about)).toEqual([
    'agent',
    ...partNames.filter((_, index) => index % 2 === 1),
    ...partNames.filter((_, index) => index % 2 === 0),
    'x',
  ]);
  for (const { todo } of advice) expect(todo.length).toBeGreaterThan(10);
});
