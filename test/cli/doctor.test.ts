// `remora doctor` before a real agent whose settings lead nowhere.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { toAdvice } from '../../src/cli/advice.ts';
import { partNames } from '../../src/contract/local/status.ts';
import { startAgent } from '../support/agent-process.ts';
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
