// How a platform ends and what the next one finds: closed, exited, killed, damaged, and two at once.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { readBootId, readProcess } from '../../src/platform/machines/process-table.ts';
import { eventually } from '../support/eventually.ts';
import { openTestPlatform, readReport } from '../support/open-platform.ts';
import { tempDir } from '../support/temp-dir.ts';

const name = { organization: 'acme', sprite: 'dev-1' } as const;
const hello = z.object({ machine: z.object({ dir: z.string(), state: z.string() }) });

function spawnForTest(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): ChildProcess {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'], env });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  return child;
}

async function startPlatformProcess(dir: string, mode = 'stay') {
  const script = new URL('../support/platform-process.ts', import.meta.url).pathname;
  const child = spawnForTest(process.execPath, [script, dir, mode]);
  const lines = createInterface({ input: child.stdout ?? process.stdin });
  const [line] = await once(lines, 'line');
  const { machine } = hello.parse(JSON.parse(line));
  const report = await eventually(() => readReport(machine.dir));
  onTestFinished(() => {
    for (const pid of [report.pid, report.child]) if (!isGone(pid)) process.kill(pid, 'SIGKILL');
  });
  return { child, machine, report };
}

const isGone = (pid: number) => [undefined, 'Z', 'X'].includes(readProcess(pid)?.state);

describe('the end of a platform', () => {
  test.each(['close', 'exit'])('by %s leaves no process of a machine', async (mode) => {
    const { child, report } = await startPlatformProcess(tempDir(), mode);
    await (child.exitCode === null ? once(child, 'exit') : undefined);
    await eventually(() => isGone(report.pid) && isGone(report.child));
  });

  test('by force leaves machines, which the next one ends and records as stopped', async () => {
    const dir = tempDir();
    const { child, machine, report } = await startPlatformProcess(dir);
    expect(machine.state).toBe('running');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect([isGone(report.pid), isGone(report.child)]).toEqual([false, false]);
    const { admin } = await openTestPlatform({ dir });
    expect([isGone(report.pid), isGone(report.child)]).toEqual([true, true]);
    expect((await admin.readMachine(name)).state).toBe('stopped');
  });

  test('by force leaves children whose parent is gone, which the next one ends as well', async () => {
    const dir = tempDir();
    const { child, report } = await startPlatformProcess(dir);
    child.kill('SIGKILL');
    await once(child, 'exit');
    process.kill(report.pid, 'SIGKILL');
    await eventually(() => isGone(report.pid));
    expect(isGone(report.child)).toBe(false);
    await openTestPlatform({ dir });
    expect(isGone(report.child)).toBe(true);
  });

  test('between the intent to start and the record of the process is found by the mark in its environment', async () => {
    const dir = tempDir();
    const first = await openTestPlatform({ dir });
    await first.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const machine = await first.admin.readMachine(name);
    await first[Symbol.asyncDispose]();
    const orphan = spawn('sleep', ['600'], {
      detached: true,
      stdio: 'ignore',
      env: { PATH: process.env.PATH, FLY_MACHINE_VERSION: 'life-1' },
    });
    onTestFinished(() => {
      orphan.kill('SIGKILL');
    });
    const pid = orphan.pid ?? 0;
    mkdirSync(machine.dir, { recursive: true });
    const note = JSON.stringify({ instance_id: 'life-1', boot_id: readBootId() });
    writeFileSync(join(machine.dir, 'process.json'), note);
    await openTestPlatform({ dir });
    expect(isGone(pid)).toBe(true);
  });

  test('does not make the next one end a process that only has the same pid', async () => {
    const dir = tempDir();
    const first = await openTestPlatform({ dir });
    await first.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const machine = await first.admin.readMachine(name);
    await first[Symbol.asyncDispose]();
    const stranger = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
    onTestFinished(() => {
      stranger.kill('SIGKILL');
    });
    const pid = stranger.pid ?? 0;
    const start_ticks = (readProcess(pid)?.start_ticks ?? 0) - 1;
    mkdirSync(machine.dir, { recursive: true });
    const note = JSON.stringify({ instance_id: 'life-2', boot_id: readBootId(), pid, start_ticks });
    writeFileSync(join(machine.dir, 'process.json'), note);
    await openTestPlatform({ dir });
    expect(isGone(pid)).toBe(false);
  });
});

describe('the start of a platform', () => {
  test('is refused while another one uses the directory, which serves on', async () => {
    const first = await openTestPlatform();
    await expect(openTestPlatform({ dir: first.dir })).rejects.toMatchObject({ code: 'conflict' });
    expect((await first.call({ path: '/v1/sprites' })).status).toBe(200);
  });

  test('on a port that is taken is refused, and the directory is free again', async () => {
    const first = await openTestPlatform();
    const dir = tempDir();
    const port = Number(new URL(first.url).port);
    const opening = openTestPlatform({ dir, listen: { host: '127.0.0.1', port } });
    await expect(opening).rejects.toMatchObject({ code: 'EADDRINUSE' });
    expect((await (await openTestPlatform({ dir })).call({ path: '/v1/sprites' })).status).toBe(200);
  });

  test('on a damaged database is refused, and the file is left alone', async () => {
    const { dir, ...first } = await openTestPlatform();
    for (let index = 0; index < 200; index += 1) await first.admin.createToken({ organization: 'acme' });
    await first[Symbol.asyncDispose]();
    truncateSync(join(dir, 'platform.db'), 8_192);
    await expect(openTestPlatform({ dir })).rejects.toThrow();
    await expect(openTestPlatform({ dir })).rejects.toThrow(/malformed|damaged|disk image/i);
  });

  test('is refused for a catalogue entry that cannot be used, with every problem named', async () => {
    const entry = {
      provider: 'sample',
      display_name: 'Sample',
      description: 'x',
      injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
      address: { type: 'fixed', url: 'http://127.0.0.1:1' },
      sample_path: 'x',
    } as const;
    const opening = openTestPlatform({ catalogue: [entry] });
    await expect(opening).rejects.toMatchObject({ code: 'not_configured' });
    await expect(opening).rejects.toThrow(/sample: sample_path.*address\.url: the address must be https/s);
  });
});
