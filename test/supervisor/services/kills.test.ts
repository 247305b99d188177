// A supervisor that is killed at any moment: the next one knows what is defined, and no service runs twice.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished, test } from 'vitest';
import type { ServiceResponse } from '../../../src/contract/services.ts';
import { readProcess } from '../../../src/linux/processes/process-table.ts';
import { RunNotes } from '../../../src/supervisor/services/run-note.ts';
import { eventually } from '../../support/eventually.ts';
import { readOf } from '../../support/processes-of.ts';
import { findPids, startSupervisor, stateDirOf } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** It goes on without a reader of its output, and leaves a child in a session of its own. */
const script = (mark: string) =>
  `trap "" PIPE HUP; setsid sh -c 'while :; do sleep 0.2; done' ${mark}-child & while :; do sleep 0.2; done`;
const service = (mark: string) => ({ cmd: 'sh', args: ['-c', script(mark), mark] });

function countOf(mark: string): number {
  return findPids(mark).length;
}

test('what ran is ended and started again; what was stopped by hand stays stopped', async () => {
  const dir = tempDir();
  const mark = `svc-kill-${process.pid}-a`;
  const first = await startSupervisor({ dir });
  await first.put('web', service(mark));
  await first.put('off', { cmd: 'sleep', args: ['60'] });
  await first.post('off/stop');
  const before = await eventually(async () => (await first.read('web')).state?.pid);
  const old = await eventually(() => {
    const found = findPids(mark);
    return found.length > 1 && findPids(`${mark}-child`).length > 0 && found;
  });
  await first.kill();
  expect(findPids(mark)).toContain(before);

  const second = await startSupervisor({ dir });
  await eventually(async () => (await second.read('web')).state?.status === 'running');
  expect(findPids(mark).filter((pid) => old.includes(pid))).toEqual([]);
  expect((await second.read('off')).state?.status).toBe('stopped');
  await second.post('web/stop');
  expect(countOf(mark)).toBe(0);
});

test('a pid that belongs to another process by now is left alone', async () => {
  const dir = tempDir();
  const stranger = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  onTestFinished(() => void stranger.kill('SIGKILL'));
  const { pid = 0 } = stranger;
  const known = await eventually(() => readProcess(pid));
  const notes = new RunNotes(stateDirOf(dir));
  const leader = { pid, start_ticks: known.start_ticks - 1 };
  notes.write('web', { leader, cgroup: undefined });
  const supervisor = await startSupervisor({ dir });
  await eventually(() => notes.list().size === 0);
  await supervisor.put('web', { cmd: 'sleep', args: ['60'] });
  expect(readProcess(pid)?.state).toBe('S');
});

it.each([
  ['a definition', 'PUT'],
  ['a replacement', 'PUT'],
  ['a stop', 'POST stop'],
  ['a restart', 'POST restart'],
  ['a removal', 'DELETE'],
])(
  'in the middle of %s: the next one has the old definitions or the new ones, and one process of each service',
  async (what, how) => {
    for (const delay_ms of [2, 20]) {
      const dir = tempDir();
      const mark = `svc-kill-${process.pid}-${what.replaceAll(' ', '-')}-${delay_ms}`;
      const first = await startSupervisor({ dir });
      if (what !== 'a definition') await first.put('web', service(mark));
      const call =
        how === 'PUT'
          ? first.put('web', service(mark))
          : how === 'DELETE'
            ? first.ask({ method: 'DELETE', target: '/v1/services/web' })
            : first.post(`web/${how.slice(5)}`);
      call.catch(() => undefined);
      await sleep(delay_ms);
      await first.kill();

      const second = await startSupervisor({ dir });
      const list = await eventually(async () => {
        const services = (await second.ask({ target: '/v1/services' })).json as ServiceResponse[];
        return services.every(({ state }) => state?.status !== 'stopping') && services;
      });
      expect(list.length).toBeLessThanOrEqual(1);
      const isUp = list.length === 1 && list[0]?.state?.status !== 'stopped';
      if (isUp) await eventually(async () => (await second.read('web')).state?.status === 'running');
      if (isUp) expect(leadersOf(mark)).toHaveLength(1);
      else await eventually(() => countOf(mark) === 0);
      second.child.kill('SIGTERM');
      expect(await second.ended).toBe(0);
      expect(countOf(mark)).toBe(0);
    }
  },
  120_000,
);

/** The shells of the service itself, which lead a process group: not its child, not the sleeps. */
function leadersOf(mark: string): number[] {
  return findPids(mark).filter((pid) => {
    // A shell forks for each command, and that process may be over by now.
    const words = readOf(pid, 'cmdline').split('\0');
    return words[0] === 'sh' && words.includes(mark) && readProcess(pid)?.group === pid;
  });
}
