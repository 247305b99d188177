// What commands have left running, by the control groups of the commands.
import { expect, test } from 'vitest';
import type { Cgroup } from '../../../src/linux/processes/cgroup.ts';
import { LeftGroups } from '../../../src/supervisor/processes/left-groups.ts';

test('a group that waits for its first process is kept, and one that has lost its last is removed', () => {
  const groups = new Map<string, number[]>([['/new', []]]);
  const toGroup = (path: string): Cgroup => ({
    path,
    add: () => false,
    pids: () => groups.get(path) ?? [],
    hold: () => undefined,
    isHeld: () => false,
    oomKills: () => undefined,
    kill: () => undefined,
    remove: () => void groups.delete(path),
  });
  const left = new LeftGroups(() => [...groups.keys()].map(toGroup));
  expect(left.hasProcesses()).toBe(false);
  groups.set('/new', [7]).set('/other', []);
  expect(left.hasProcesses()).toBe(true);
  groups.set('/new', []);
  expect(left.hasProcesses()).toBe(false);
  expect([...groups.keys()]).toEqual(['/other']);
});
