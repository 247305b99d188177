// Everything of a machine is frozen and ended: what moved to other sessions, what was started meanwhile, and what shows no environment.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCgroup } from '../../src/linux/processes/cgroup.ts';
import { selectFamily } from '../../src/linux/processes/process-family.ts';
import { readProcess } from '../../src/linux/processes/process-table.ts';
import { areStopped } from '../../src/platform/machines/drivers/process/machine-members.ts';
import { eventually } from '../support/eventually.ts';
import { endLeftMachines, isGone, listMachinePids } from '../support/left-machines.ts';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';
import { signalRunning } from '../support/signal-running.ts';
import { tempDir } from '../support/temp-dir.ts';

const name = { organization: 'acme', sprite: 'dev-1' } as const;
const stateOf = (pid: number) => readProcess(pid)?.state;

async function openRunning(mode: string, dir = tempDir()) {
  endLeftMachines(dir);
  const options = { dir, agentCommand: machineCommand(mode), freezeDelay_ms: 0, endMachines: false };
  const platform = await openTestPlatform(options);
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  await platform.admin.startMachine(name);
  // Where the kernel had no time for it, the machine runs on.
  const suspend = () =>
    eventually(async () => {
      const { state } = await platform.admin.readMachine(name);
      if (state === 'running') await platform.admin.suspendMachine(name);
      return state === 'suspended';
    });
  return { platform, dir, suspend, options };
}

/** All five, once two of them have left for groups of their own. */
const findEscaped = (dir: string) =>
  eventually(() => {
    const found = listMachinePids(dir);
    return found.length === 5 && new Set(found.map((pid) => readProcess(pid)?.group)).size === 3 && found;
  });

describe('what left the session of the machine', () => {
  test('is frozen, found frozen by the next platform, thawed and ended with it', async () => {
    const { platform, dir, suspend, options } = await openRunning('escape');
    const pids = await findEscaped(dir);
    await suspend();
    expect(pids.map(stateOf)).toEqual(pids.map(() => 'T'));
    await platform[Symbol.asyncDispose]();

    const { admin } = await openTestPlatform(options);
    expect((await admin.readMachine(name)).state).toBe('suspended');
    expect(await admin.startMachine(name)).toBe('suspended');
    await eventually(() => pids.every((pid) => stateOf(pid) === 'S'));
    await admin.stopMachine(name);
    await eventually(async () => (await admin.readMachine(name)).state === 'stopped');
    expect(pids.filter((pid) => !isGone(pid))).toEqual([]);
  });

  test('is ended by the next platform when the machine ended while none ran', async () => {
    const { platform, dir, options } = await openRunning('escape');
    const pids = await findEscaped(dir);
    await platform[Symbol.asyncDispose]();
    const leader = pids.find((pid) => readProcess(pid)?.group === pid && readProcess(pid)?.parent === process.pid);
    signalRunning(leader, 'SIGKILL');
    await eventually(() => isGone(leader ?? 0));
    expect(pids.filter((pid) => !isGone(pid))).toHaveLength(4);
    await openTestPlatform({ ...options, agentCommand: machineCommand() });
    expect(pids.filter((pid) => !isGone(pid))).toEqual([]);
  });

  test('is frozen too when it is started while the freeze runs', async () => {
    const { platform, dir, suspend } = await openRunning('breed');
    await eventually(() => listMachinePids(dir).length > 5);
    await suspend();
    const pids = listMachinePids(dir);
    // A parent that waits for a stopped child to begin is stopped as well.
    expect(pids.filter((pid) => !['T', 'D'].includes(stateOf(pid) ?? ''))).toEqual([]);
    expect(listMachinePids(dir)).toEqual(pids);
    await platform.admin.stopMachine(name);
    await eventually(async () => (await platform.admin.readMachine(name)).state === 'stopped');
    expect(listMachinePids(dir)).toEqual([]);
  });
});

const ROOT = '/sys/fs/cgroup';

/** The directory of cgroups(7), version 2; undefined where this user may make no group there. */
function findCgroups(): string | undefined {
  const found = [ROOT, `${ROOT}/unified`].find((path) => {
    try {
      accessSync(join(path, 'cgroup.procs'), constants.W_OK);
      accessSync(join(path, 'cgroup.controllers'));
      return true;
    } catch {
      return false;
    }
  });
  return found;
}

describe.skipIf(findCgroups() === undefined)('a platform in a control group of its own', () => {
  test('freezes and ends even what shows no environment, and leaves no group behind', async () => {
    const dir = tempDir();
    const path = join(findCgroups() ?? '', `remora-test-${process.pid}-${Date.now()}`);
    mkdirSync(path);
    const cgroup = createCgroup(path);
    onTestFinished(async () => {
      cgroup.kill();
      await eventually(() => {
        cgroup.remove();
        return !existsSync(path);
      });
    });
    const script = new URL('../support/platform-process.ts', import.meta.url).pathname;
    const line = 'echo $$ > "$0/cgroup.procs"; exec "$@"';
    const child = spawn('sh', ['-c', line, path, process.execPath, script, dir, 'stay', 'lose']);
    const [hello] = await once(createInterface({ input: child.stdout }), 'line');
    const { machines } = JSON.parse(hello);
    const pidOf = ({ dir: place }: { dir: string }) => Number(readFileSync(join(place, 'state', 'lost'), 'utf8'));
    const [running, frozen] = machines.map(pidOf);
    expect([stateOf(running) === 'T', stateOf(frozen) === 'T']).toEqual([false, true]);
    child.kill('SIGKILL');
    await once(child, 'exit');

    const { admin } = await openTestPlatform({ dir, agentCommand: machineCommand() });
    expect((await admin.readMachine({ organization: 'acme', sprite: 'dev-2' })).state).toBe('suspended');
    for (const sprite of ['dev-1', 'dev-2']) {
      await admin.stopMachine({ organization: 'acme', sprite });
      await eventually(async () => (await admin.readMachine({ organization: 'acme', sprite })).state === 'stopped');
    }
    expect([isGone(running), isGone(frozen)]).toEqual([true, true]);
    expect(cgroup.pids()).toEqual([]);
    rmdirSync(path);
  });
});

const stat = { state: 'S', parent: 1, mark: undefined, isKernelThread: false } as const;
const leader = { pid: 10, start_ticks: 100 };
const first = { ...stat, pid: 10, group: 10, start_ticks: 100 };

test.each([
  ['the group of its leader', [first, { ...stat, pid: 11, group: 10, start_ticks: 101 }], [10, 11]],
  ['what carries its id', [first, { ...stat, pid: 12, group: 12, start_ticks: 101, mark: 'i' }], [10, 12]],
  ['not what carries another id', [first, { ...stat, pid: 12, group: 12, start_ticks: 101, mark: 'j' }], [10]],
  ['what is in its control group', [first, { ...stat, pid: 13, group: 13, start_ticks: 101 }], [10, 13]],
  [
    'what a member started, with its group',
    [
      first,
      { ...stat, pid: 14, parent: 10, group: 14, start_ticks: 101 },
      { ...stat, pid: 15, group: 14, start_ticks: 102 },
    ],
    [10, 14, 15],
  ],
  ['nothing of a pid that was used again', [{ ...first, start_ticks: 101 }], []],
  ['the rest of a group whose leader is gone', [{ ...stat, pid: 11, group: 10, start_ticks: 101 }], [11]],
  [
    'no process of another namespace but its own',
    [
      { ...first, group: 0, mark: 'i' },
      { ...stat, pid: 16, group: 0, start_ticks: 1 },
    ],
    [10],
  ],
])('the members of an instance are %s', (_, table, expected) => {
  const members = selectFamily(table, { mark: 'i', leader }, new Set([13]));
  expect(members.map(({ pid }) => pid)).toEqual(expected);
});

test('a parent that waits for a stopped child to begin counts as stopped', () => {
  const child = { ...stat, pid: 11, parent: 10, group: 10, start_ticks: 101 };
  expect(areStopped([])).toBe(false);
  expect(areStopped([{ ...first, state: 'T' }, child])).toBe(false);
  expect(
    areStopped([
      { ...first, state: 'D' },
      { ...child, state: 'T' },
    ]),
  ).toBe(true);
  expect(
    areStopped([
      { ...first, state: 'D' },
      { ...child, parent: 1, state: 'T' },
    ]),
  ).toBe(false);
});
