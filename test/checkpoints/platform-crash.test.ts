// A platform that is killed in the middle of a checkpoint operation of a machine that runs: the next platform lets the machine run on, or
// boots it with the former files or those of the checkpoint.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { endLeftMachines, isGone } from '../support/left-machines.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { machineCommand, openTestPlatform, readReport } from '../support/open-platform.ts';

const child = new URL('../support/checkpoint-platform-child.ts', import.meta.url).pathname;
const dev = { organization: 'acme', sprite: 'dev-1' } as const;

/** The next platform, and the machine after its platform was killed before a step. */
async function killBefore(action: 'make' | 'restore', step: string) {
  const dir = memoryDir();
  endLeftMachines(dir);
  const killed = spawnSync(process.execPath, [child, dir, action, step], { encoding: 'utf8' });
  expect([killed.signal, killed.stderr]).toEqual(['SIGKILL', '']);
  const platform = await openTestPlatform({ dir, agentCommand: machineCommand(), trustMachines: true });
  const machine = async () => await platform.admin.readMachine(dev);
  return { machine, dir: (await machine()).dir };
}

test.each(['copy the files', 'copy what stands still', 'name the checkpoint'])(
  'one that is made, before: %s',
  async (step) => {
    const { machine, dir } = await killBefore('make', step);
    expect((await machine()).state).toBe('running');
    const { pid = 0, ticks = 0 } = readReport(dir) ?? {};
    expect(isGone(pid)).toBe(false);
    // It runs on, the same process.
    await eventually(() => (readReport(dir)?.ticks ?? 0) > ticks + 5 || undefined);
    expect(readReport(dir)?.pid).toBe(pid);
  },
);

test.each([
  ['write the copy to the disk', 'two'],
  ['copy the files', 'two'],
  ['begin the restore', 'two'],
  ['set the files aside', 'one'],
  ['put the copy in place', 'one'],
  ['end the restore', 'one'],
])('one that is restored, before: %s', async (step, content) => {
  const { machine, dir } = await killBefore('restore', step);
  expect(readFileSync(join(dir, 'home', 'file'), 'utf8')).toBe(content);
  await eventually(async () => (await machine()).state === 'running' || undefined);
});
