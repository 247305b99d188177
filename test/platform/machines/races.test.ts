// Two callers at once: each is answered, and the machine ends in one state, which is also that of its process.
import { expect, test } from 'vitest';
import { readProcess } from '../../../src/linux/processes/process-table.ts';
import { openOnce } from '../../support/at-end.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';

const opened = openOnce(() => openTestPlatform({ agentCommand: machineCommand() }));

function toMany(...actions: readonly string[]): readonly string[] {
  return Array.from({ length: 20 }, (_, index) => actions[index % actions.length] ?? '');
}

test.each([
  ['two suspends', 'suspends', ['suspend', 'suspend'], ['suspended']],
  ['two starts', 'starts', ['start', 'start'], ['running']],
  ['a stop during a suspend', 'stop', ['suspend', 'stop'], ['stopped']],
  ['twenty suspends and starts at once', 'twenty', toMany('suspend', 'start'), ['running', 'suspended']],
  ['a start during a suspend', 'start', ['suspend', 'start'], ['running', 'suspended']],
] as const)('%s', async (_, name, actions, ends) => {
  const machine = await machineOf(opened(), name);
  await machine.post('start');
  const { pid } = await machine.report();
  const { instance_id } = await machine.read();
  const answers = await Promise.all(actions.map((action) => machine.post(action)));
  for (const { status } of answers) expect([200, 409]).toContain(status);
  expect(answers.some(({ status }) => status === 200)).toBe(true);
  const reached = await Promise.any(
    ends.map(async (end) => {
      expect(await machine.wait(`state=${end}&timeout=20`)).toBe(200);
      return end;
    }),
  );
  const state = readProcess(pid)?.state;
  if (reached === 'stopped') expect([undefined, 'Z', 'X']).toContain(state);
  expect((await machine.read()).instance_id).toBe(instance_id);
});
