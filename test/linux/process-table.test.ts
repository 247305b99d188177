import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { readMarkedProcesses, readProcess, readVariable } from '../../src/linux/processes/process-table.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A process with an environment that is given as bytes, which no variable of Node can hold. */
async function runWith(environment: string): Promise<number> {
  const script = `exec env -i ${environment} sh -c 'echo; exec sleep 300'`;
  const child = spawn('bash', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

test('finds the variable of each process, whatever stands beside it', async () => {
  const first = await runWith('MARK=a=b OTHER=c');
  const last = await runWith("XMARK=no OTHER=$'\\xff' MARK=d");
  const empty = await runWith('MARK= OTHER=MARK=e');
  const none = await runWith('XMARK=f OTHER=g');

  const table = await readMarkedProcesses('MARK');

  const markOf = (pid: number) => table.find((each) => each.pid === pid)?.mark;
  expect([first, last, empty, none].map(markOf)).toEqual(['a=b', 'd', '', undefined]);
  expect(table.map(({ pid }) => pid)).toEqual(expect.arrayContaining([first, last, empty, none, process.pid]));
  expect(readVariable(last, 'OTHER')).toBe('\ufffd');
});

test('leaves out the threads of the kernel', async () => {
  const kernelThreads = (await readMarkedProcesses('MARK')).filter(({ isKernelThread }) => isKernelThread);
  expect(kernelThreads).toEqual([]);
  expect(readProcess(process.pid)?.isKernelThread).toBe(false);

  const procRoot = tempDir();
  mkdirSync(join(procRoot, '15'));
  const ofKernel = `15 (ksoftirqd/0) S 2 0 0 0 -1 69238848 0 0 0 0 0 9 0 0 20 0 1 0 5 ${'0 '.repeat(30)}`;
  writeFileSync(join(procRoot, '15', 'stat'), ofKernel);
  expect(readProcess(15, procRoot)).toMatchObject({ pid: 15, parent: 2, group: 0, isKernelThread: true });
});
