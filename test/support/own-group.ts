// A control group of version 2 for a program of a test, gone with all that runs in it when the test ends. Needs root.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createCgroup } from '../../src/linux/processes/cgroup.ts';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';

/** Where groups of version 2 are; undefined where there are none. */
export const GROUPS = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((path) =>
  existsSync(join(path, 'cgroup.controllers')),
);

export interface OwnGroup {
  readonly path: string;
  /** The words before a command that runs in it. */
  readonly before: readonly string[];
}

export function openOwnGroup(name: string): OwnGroup {
  const path = join(GROUPS ?? '', `remora-test-${process.pid}-${name}`);
  mkdirSync(path);
  const group = createCgroup(path);
  atEnd(async () => {
    group.kill();
    await eventually(() => group.pids().length === 0);
    group.remove();
  });
  return { path, before: ['sh', '-c', 'echo 0 > "$0/cgroup.procs"; exec "$@"', path] };
}
