// What the kernel counts of processes that it has killed for want of memory, as a control group shows it.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCgroup, parseOomKills } from '../../src/linux/processes/cgroup.ts';
import { createInstances } from '../../src/platform/machines/drivers/process/instances.ts';
import { tempDir } from '../support/temp-dir.ts';

test.each([
  ['low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\noom_group_kill 0\n', 1],
  ['low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n', 0],
  ['', undefined],
  ['oom_kill_disable 0\nunder_oom 0\n', undefined],
])('%j', (events, kills) => {
  expect(parseOomKills(events)).toBe(kills);
});

test.each([
  ['oom_kill 2\n', { exit_code: null, signal: 'SIGKILL', oom_killed: true }],
  ['oom_kill 0\n', { exit_code: null, signal: 'SIGKILL', oom_killed: false }],
  [undefined, { exit_code: null, signal: 'SIGKILL' }],
])('the end of a machine whose group counts %j', async (events, expected) => {
  const path = join(tempDir(), 'group');
  mkdirSync(path);
  writeFileSync(join(path, 'cgroup.procs'), '');
  if (events !== undefined) writeFileSync(join(path, 'memory.events'), events);
  const instances = createInstances(new AbortController().signal, async () => undefined);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  instances.onExit(async (_, end) => resolve(end));
  const ended = Promise.resolve({ exit_code: null, signal: 'SIGKILL' });
  // A pid that no process has.
  const leader = { pid: 2 ** 22 + 1, start_ticks: 1, ended };
  instances.begin('m1', { instance_id: 'of-no-process', leader, cgroup: createCgroup(path), state: 'running' });
  expect(await promise).toEqual(expected);
});
