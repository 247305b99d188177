// Reads the kernel's process table: which processes are in a group, and whether a process is stopped. Processes are named by
// pid and start time, because pids are used again.
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

/** The processes that were started with the variable `name` in their environment, by its value, in one reading of the table. */
export function findByEnvironment(name: string): ReadonlyMap<string, readonly ProcessStat[]> {
  const found = new Map<string, ProcessStat[]>();
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    const value = readVariable(pid, name);
    const stat = value === undefined ? undefined : readProcess(pid);
    if (value === undefined || stat === undefined || stat.state === 'Z' || stat.state === 'X') continue;
    found.set(value, [...(found.get(value) ?? []), stat]);
  }
  return found;
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

function readVariable(pid: number, name: string): string | undefined {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    return variables.find((variable) => variable.startsWith(`${name}=`))?.slice(name.length + 1);
  } catch {
    return undefined;
  }
}
