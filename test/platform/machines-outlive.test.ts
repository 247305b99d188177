// Machines and the platforms that come and go: what the next one finds, whatever moment the last one was killed at.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { MachineConfig, RestartPolicy } from '../../src/contract/machine-config.ts';
import { randomFraction } from '../../src/core/urandom.ts';
import { readBootId } from '../../src/linux/boot-id.ts';
import { readProcess } from '../../src/linux/processes/process-table.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import { eventually } from '../support/eventually.ts';
import { endLeftMachines, isGone, listMachinePids } from '../support/left-machines.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { machineCommand, openTestPlatform, readReport } from '../support/open-platform.ts';
import { signalRunning } from '../support/signal-running.ts';

const running = { organization: 'acme', sprite: 'dev-1' } as const;
const frozen = { organization: 'acme', sprite: 'dev-2' } as const;
const place = z.object({ dir: z.string(), id: z.string() });
const hello = z.object({ machines: z.tuple([place, place]) });

function spawnForTest(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

/** One machine that runs and one that is frozen, under a platform in a process of its own. */
async function startPlatformProcess(dir: string, mode = 'stay') {
  endLeftMachines(dir);
  const script = new URL('../support/platform-process.ts', import.meta.url).pathname;
  const child = spawnForTest(process.execPath, [script, dir, mode]);
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const [line] = await once(lines, 'line');
  const { machines } = hello.parse(JSON.parse(line));
  const [one, other] = await Promise.all(
    machines.map(async (machine) => await eventually(() => readReport(machine.dir))),
  );
  if (one === undefined || other === undefined) throw new Error('they do not run');
  const pids = [one.pid, one.child, other.pid, other.child];
  return { child, machines, one, other, pids };
}

const end = async (child: ChildProcess) => {
  child.kill('SIGKILL');
  await (child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined);
};
const stateOf = (pid: number) => readProcess(pid)?.state;

describe('a platform that was told to end its machines', () => {
  test.each(['close', 'exit'])('leaves no process of them when it ends by %s', async (mode) => {
    const { child, pids } = await startPlatformProcess(memoryDir(), mode);
    await (child.exitCode === null ? once(child, 'exit') : undefined);
    await eventually(() => pids.every(isGone));
  });
});

describe('machines outlive a platform', () => {
  test.each(['stay', 'leave'])(
    'that is killed or closed (%s), and the next one has them as they were',
    async (mode) => {
      const dir = memoryDir();
      const { child, machines, one, other, pids } = await startPlatformProcess(dir, mode);
      if (mode === 'stay') await end(child);
      else await (child.exitCode === null ? once(child, 'exit') : undefined);
      expect(pids.map(isGone)).toEqual([false, false, false, false]);

      const { admin, call } = await openTestPlatform({ dir, agentCommand: machineCommand() });
      expect((await admin.readMachine(running)).state).toBe('running');
      expect((await admin.readMachine(frozen)).state).toBe('suspended');
      expect([one.pid, one.child].map(stateOf)).not.toContain('T');
      expect([other.pid, other.child].map(stateOf)).toEqual(['T', 'T']);
      expect(await admin.startMachine(running)).toBe('running');
      expect(await admin.startMachine(frozen)).toBe('suspended');
      await eventually(() => stateOf(other.child) === 'S');
      expect([...listMachinePids(dir)].sort()).toEqual([...pids].sort());

      const path = `/v1/apps/acme/machines/${machines[0].id}`;
      await call({ method: 'POST', path: `${path}/suspend` });
      expect((await call({ path: `${path}/wait?state=suspended` })).status).toBe(200);
      expect([one.pid, one.child].map(stateOf)).toEqual(['T', 'T']);
      await admin.stopMachine(running);
      await admin.stopMachine(frozen);
      expect(pids.map(isGone)).toEqual([true, true, true, true]);
      expect(await admin.startMachine(running)).toBe('stopped');
    },
  );

  test('and an end that comes under the next one is noticed, with the rest of the machine ended', async () => {
    const dir = memoryDir();
    const { child, one } = await startPlatformProcess(dir);
    await end(child);
    const { admin } = await openTestPlatform({ dir, agentCommand: machineCommand() });
    const { instance_id, dir: place } = await admin.readMachine(running);
    signalRunning(one.pid, 'SIGKILL');
    await eventually(() => isGone(one.child));
    await eventually(async () => {
      const now = await admin.readMachine(running);
      return now.state === 'running' && now.instance_id !== instance_id;
    });
    expect((await eventually(() => readReport(place))).pid).not.toBe(one.pid);
  });
});

/** A platform that is closed with the machine `dev-1` running or stopped, and whose database is changed before the next opens. */
async function openLeft(config: MachineConfig = {}, start = true) {
  const dir = memoryDir();
  endLeftMachines(dir);
  const first = await openTestPlatform({ dir, agentCommand: machineCommand(), endMachines: false });
  await first.admin.createSprite({ organization: 'acme', name: 'dev-1', config });
  if (start) await first.admin.startMachine(running);
  const { id, dir: place, instance_id } = await first.admin.readMachine(running);
  await first[Symbol.asyncDispose]();
  const report = start ? await eventually(() => readReport(place)) : undefined;
  async function record(assignments: string): Promise<void> {
    await using storage = openSqliteStorage(dir);
    await storage.run(`UPDATE machines SET ${assignments} WHERE id = $1`, [id]);
  }
  const note = join(place, 'process.json');
  const change = (fields: object) =>
    writeFileSync(note, JSON.stringify({ ...JSON.parse(readFileSync(note, 'utf8')), ...fields }));
  async function openNext() {
    const next = await openTestPlatform({ dir, agentCommand: machineCommand() });
    const read = async () => (await next.call({ path: `/v1/apps/acme/machines/${id}` })).json;
    return { ...next, read };
  }
  const leaders = () => listMachinePids(dir).filter((pid) => readProcess(pid)?.group === pid);
  return { dir, place, report, instance_id, record, change, openNext, leaders, note };
}

const withPolicy = (policy: RestartPolicy): MachineConfig => ({ restart: { policy } });

async function endMachine({ report }: Awaited<ReturnType<typeof openLeft>>): Promise<void> {
  for (const pid of [report?.pid, report?.child]) if (pid !== undefined) process.kill(pid, 'SIGKILL');
  await eventually(() => isGone(report?.pid ?? 0) && isGone(report?.child ?? 0));
}

describe('while no platform runs', () => {
  test('an end is noticed by the next one, and a machine that is not to restart stays stopped', async () => {
    const left = await openLeft(withPolicy('no'));
    await endMachine(left);
    const { read } = await left.openNext();
    expect(await read()).toMatchObject({ state: 'stopped', last_exit: { exit_code: null, requested: false } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(left.leaders()).toEqual([]);
  });

  test('an end is noticed by the next one, which starts the machine again by its policy', async () => {
    const left = await openLeft();
    await endMachine(left);
    const { read } = await left.openNext();
    await eventually(async () => (await read()).state === 'running');
    expect(await read()).toMatchObject({ last_exit: { exit_code: null, requested: false } });
    expect((await read()).instance_id).not.toBe(left.instance_id);
    expect(left.leaders()).toHaveLength(1);
  });

  test('a leader that ended with children left has them ended', async () => {
    const left = await openLeft(withPolicy('no'));
    signalRunning(left.report?.pid, 'SIGKILL');
    await eventually(() => isGone(left.report?.pid ?? 0));
    expect(isGone(left.report?.child ?? 0)).toBe(false);
    await left.openNext();
    expect(isGone(left.report?.child ?? 0)).toBe(true);
  });

  test.each(['no', 'on-failure'] as const)('a restart of the host starts what ran (%s)', async (policy) => {
    const left = await openLeft(withPolicy(policy));
    await endMachine(left);
    left.change({ boot_id: 'another-boot' });
    const { read } = await left.openNext();
    await eventually(async () => (await read()).state === 'running');
    expect(left.leaders()).toHaveLength(1);
  });

  test('a restart of the host starts nothing that was stopped or frozen', async () => {
    const left = await openLeft();
    await endMachine(left);
    left.change({ boot_id: 'another-boot' });
    await left.record("state = 'suspended'");
    const { read } = await left.openNext();
    expect(await read()).toMatchObject({ state: 'suspended', last_exit: { requested: false } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(left.leaders()).toEqual([]);
  });
});

describe('a platform that was killed between intent and effect, or effect and record', () => {
  test('of a start that did not begin: it is done once', async () => {
    const left = await openLeft(withPolicy('no'), false);
    await left.record("state = 'starting', wanted = 'running', instance_id = 'never-began', host = 'local'");
    const { read } = await left.openNext();
    await eventually(async () => (await read()).state === 'running');
    expect(left.leaders()).toHaveLength(1);
  });

  test('of a start whose process nobody had noted: it is found by its mark, and not started twice', async () => {
    const left = await openLeft();
    const { boot_id, instance_id } = JSON.parse(readFileSync(left.note, 'utf8'));
    writeFileSync(left.note, JSON.stringify({ boot_id, instance_id }));
    await left.record("state = 'starting'");
    const { read, admin } = await left.openNext();
    expect(await read()).toMatchObject({ state: 'starting', instance_id });
    expect(left.leaders()).toEqual([left.report?.pid]);
    await admin.stopMachine(running);
    expect(left.leaders()).toEqual([]);
  });

  test('of a stop: it is ended, and is not started again', async () => {
    const left = await openLeft(withPolicy('always'));
    await left.record("wanted = 'stopped'");
    const { read } = await left.openNext();
    await eventually(async () => (await read()).state === 'stopped');
    expect(left.leaders()).toEqual([]);
    expect(await read()).toMatchObject({ last_exit: { requested: true } });
  });

  test('of a stop whose machine is gone by then: it is not started again', async () => {
    const left = await openLeft(withPolicy('always'));
    await left.record("wanted = 'stopped'");
    await endMachine(left);
    const { read } = await left.openNext();
    expect(await read()).toMatchObject({ state: 'stopped', last_exit: { requested: true } });
  });

  test.each([
    ['before the freeze: it runs on', 'suspending', [], 'running'],
    ['in the middle of the freeze: it runs on, all of it', 'suspending', ['child'], 'running'],
    ['after the freeze: it is suspended', 'suspending', ['pid', 'child'], 'suspended'],
    ['before the thaw: it is thawed', 'starting', ['pid', 'child'], 'running'],
    ['after the thaw: it runs', 'suspended', [], 'running'],
  ] as const)('%s', async (_, state, stopped, expected) => {
    const left = await openLeft();
    const report = left.report ?? { pid: 0, child: 0 };
    for (const name of stopped) signalRunning(report[name], 'SIGSTOP');
    await eventually(() => stopped.every((name) => stateOf(report[name]) === 'T'));
    await left.record(`state = '${state}'`);
    const { read } = await left.openNext();
    await eventually(async () => (await read()).state === expected);
    const isFrozen = expected === 'suspended';
    await eventually(() => [report.pid, report.child].every((pid) => (stateOf(pid) === 'T') === isFrozen));
    expect(left.leaders()).toEqual([report.pid]);
  });

  test('of a record that is not there: what runs without one is ended', async () => {
    const left = await openLeft();
    await left.record("instance_id = 'another-instance', state = 'stopped', wanted = 'stopped'");
    await left.openNext();
    expect(left.leaders()).toEqual([]);
  });
});

test('a process that only has the pid of a machine is left alone', async () => {
  const left = await openLeft({}, false);
  const stranger = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => {
    stranger.kill('SIGKILL');
  });
  const pid = stranger.pid ?? 0;
  const start_ticks = (readProcess(pid)?.start_ticks ?? 0) - 1;
  mkdirSync(left.place, { recursive: true });
  writeFileSync(left.note, JSON.stringify({ instance_id: 'instance-2', boot_id: readBootId(), pid, start_ticks }));
  await left.record("state = 'running', wanted = 'running', instance_id = 'instance-2', host = 'local'");
  const { read, admin } = await left.openNext();
  expect(isGone(pid)).toBe(false);
  await eventually(async () => (await read()).state === 'running');
  await admin.stopMachine(running);
  expect(isGone(pid)).toBe(false);
});

test('a platform that is killed at any moment, again and again, leaves one machine in the state that is recorded', async () => {
  const dir = memoryDir();
  endLeftMachines(dir);
  const first = await openTestPlatform({ dir, agentCommand: machineCommand() });
  await first.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  await first[Symbol.asyncDispose]();
  const script = new URL('../support/move-machine-child.ts', import.meta.url).pathname;
  const leaders = () => listMachinePids(dir).filter((pid) => readProcess(pid)?.group === pid);
  for (let round = 0; round < 4; round += 1) {
    const child = spawnForTest(process.execPath, [script, dir]);
    await once(createInterface({ input: child.stdout ?? process.stdin }), 'line');
    await sleep(randomFraction() * 1_500);
    await end(child);
    expect(leaders().length).toBeLessThanOrEqual(1);

    const next = await openTestPlatform({ dir, agentCommand: machineCommand(), endMachines: false });
    const state = await eventually(async () => {
      const now = (await next.admin.readMachine(running)).state;
      return now !== 'starting' && now !== 'suspending' && now;
    });
    // What the last platform had frozen of a machine that runs on is let go on after that is recorded.
    await eventually(() => {
      const members = listMachinePids(dir).map(stateOf);
      const isOne = leaders().length === (state === 'stopped' ? 0 : 1);
      return isOne && members.every((each) => (each === 'T') === (state === 'suspended'));
    });
    await next[Symbol.asyncDispose]();
  }
  const last = await openTestPlatform({ dir, agentCommand: machineCommand() });
  await last.admin.startMachine(running);
  expect(leaders()).toHaveLength(1);
}, 180_000);
