// Reading the kernel's process table: who is in a group, and whether a process is stopped. Processes are named by pid and
// start time, because pids are used again.
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessStat {
  readonly pid: number;
  readonly group: number;
  /** One letter of proc(5): R, S, D, T, t, Z, X, I. */
  readonly state: string;
  /** Clock ticks since the boot. */
  readonly start_ticks: number;
}

/** Undefined when there is no such process. */
export function readProcess(pid: number): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return undefined;
  }
}

/** Every process of a group that is not a zombie. */
export function readGroup(group: number): readonly ProcessStat[] {
  const members: ProcessStat[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    const stat = Number.isInteger(pid) ? readProcess(pid) : undefined;
    if (stat?.group === group && stat.state !== 'Z' && stat.state !== 'X') members.push(stat);
  }
  return members;
}

/** Names this boot of the kernel, so that start times of another boot are not compared. */
export function readBootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

/** The groups of the processes that were started with `variable` in their environment. */
export function findGroupsByEnvironment(variable: string): readonly number[] {
  const groups = new Set<number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || !hasVariable(pid, variable)) continue;
    const stat = readProcess(pid);
    if (stat !== undefined) groups.add(stat.group);
  }
  return [...groups];
}

/** The second field is in parentheses and may hold anything, also parentheses and spaces: the last `)` ends it. */
export function parseStat(text: string): ProcessStat | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return undefined;
  const fields = text.slice(close + 2).split(' ');
  const pid = Number(text.slice(0, open));
  const [state, , group] = fields;
  const start = fields[19];
  if (state === undefined || group === undefined || start === undefined || !Number.isInteger(pid)) return undefined;
  return { pid, group: Number(group), state, start_ticks: Number(start) };
}

function hasVariable(pid: number, variable: string): boolean {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`.includes(`\0${variable}\0`);
  } catch {
    return false;
  }
}
