// A control group (cgroups(7), version 2): the kernel keeps every process that is started in it in it, whatever session, group or
// environment the process takes. Files that cannot be read or written count as a group that is gone.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The group inside that of this process whose groups share a limit, and the one to which this process itself moves for that. */
export const LIMITED_GROUP = 'remora-limited';
export const OWN_GROUP = 'remora-self';

export interface Cgroup {
  readonly path: string;
  /** Moves a process into the group. False when the kernel refuses that. */
  add(pid: number): boolean;
  /** Its processes, those of groups inside it too. */
  pids(): number[];
  /** Holds every process still, or lets all of them go on; the kernel does it soon after. */
  hold(still: boolean): void;
  /** Whether every process is held still. */
  isHeld(): boolean;
  /** How many of its processes the kernel has killed for want of memory; undefined where it does not count them. */
  oomKills(): number | undefined;
  /** Kills every process at once, also those that are being started. */
  kill(): void;
  /** Removes the group where no process is left in it. */
  remove(): void;
}

/** The group at a path, which need not exist. */
export function createCgroup(path: string): Cgroup {
  return {
    path,
    add: (pid) => write(path, 'cgroup.procs', pid),
    pids: () => pidsBelow(path),
    hold: (still) => void write(path, 'cgroup.freeze', Number(still)),
    isHeld: () => read(path, 'cgroup.events').includes('frozen 1'),
    oomKills: () => parseOomKills(read(path, 'memory.events')),
    kill: () => void write(path, 'cgroup.kill', 1),
    remove: () => removeBelow(path),
  };
}

/**
 * Makes a group inside `within`, which is that of this process unless said otherwise. Undefined where none may be made: without version 2,
 * without the right, or where this process is in the root group, which belongs to the host.
 */
export function openCgroup(name: string, within = findUsableCgroup()): Cgroup | undefined {
  if (within === undefined) return undefined;
  const path = join(within, name);
  try {
    mkdirSync(path);
    return createCgroup(path);
  } catch {
    return undefined;
  }
}

/** The groups inside that of this process whose names begin so, those in the group of limited ones too. */
export function listCgroups(prefix: string): readonly Cgroup[] {
  const own = findOwnCgroup();
  const all = own === undefined ? [] : [...childrenOf(own), ...childrenOf(join(own, LIMITED_GROUP))];
  return all.filter((path) => basename(path).startsWith(prefix)).map(createCgroup);
}

/** Where this process may make groups: its own one, unless that is the root group, which belongs to the host. */
export function findUsableCgroup(): string | undefined {
  const own = findOwnCgroup();
  // The root group has no such file.
  return own !== undefined && existsSync(join(own, 'cgroup.kill')) ? own : undefined;
}

/** The group of all processes that this one can see groups of; undefined without version 2. Throws the error of the file system. */
export function findRootCgroup(): string | undefined {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8').split('\n');
  return mounts.find((line) => / - cgroup2 /.test(line))?.split(' ')[4];
}

/** Undefined unless `path` leads to a group of that name, so that a path from a file cannot name the group of others. */
export function findCgroup(path: string, name: string): Cgroup | undefined {
  return basename(path) === name && existsSync(join(path, 'cgroup.kill')) ? createCgroup(path) : undefined;
}

/** The line `oom_kill 1` of memory.events; undefined when it is not there. */
export function parseOomKills(events: string): number | undefined {
  const count = /^oom_kill (\d+)$/m.exec(events)?.[1];
  return count === undefined ? undefined : Number(count);
}

function findOwnCgroup(): string | undefined {
  try {
    const own = /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1];
    const root = findRootCgroup();
    if (own === undefined || root === undefined) return undefined;
    const path = join(root, own);
    return basename(path) === OWN_GROUP ? dirname(path) : path;
  } catch {
    return undefined;
  }
}

function pidsBelow(path: string): number[] {
  const own = read(path, 'cgroup.procs').split('\n').map(Number);
  return [...own.filter((pid) => pid > 0), ...childrenOf(path).flatMap(pidsBelow)];
}

function removeBelow(path: string): void {
  for (const child of childrenOf(path)) removeBelow(child);
  try {
    rmdirSync(path);
  } catch {
    // A process is left in it, or it is gone.
  }
}

function childrenOf(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  } catch {
    return [];
  }
}

function read(path: string, file: string): string {
  try {
    return readFileSync(join(path, file), 'utf8');
  } catch {
    return '';
  }
}

function write(path: string, file: string, value: number): boolean {
  try {
    writeFileSync(join(path, file), String(value), { flag: 'w' });
    return true;
  } catch {
    return false;
  }
}
