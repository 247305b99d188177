// Reads the kernel's process table. Processes are named by pid and start time, because pids are used again.
import { readdirSync, readFileSync } from 'node:fs';
import { inSlices } from './in-slices.ts';

export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** One letter of proc(5): R, S, D, T, t, Z, X, I. */
  readonly state: string;
  /** Clock ticks since the boot. */
  readonly start_ticks: number;
  readonly isKernelThread: boolean;
}

export interface MarkedProcess extends ProcessStat {
  /** The value of the variable in the environment that the process was started with; undefined where it has none, or may not be read. */
  readonly mark: string | undefined;
}

/** PF_KTHREAD among the flags of proc(5). */
const KERNEL_THREAD = 0x0020_0000;

/** Undefined when there is no such process. `procRoot` is /proc, or a copy of it in a test. */
export function readProcess(pid: number, procRoot = '/proc'): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`${procRoot}/${pid}/stat`, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Every process that is not a zombie, with the variable `name` of its environment. About 20 µs for each, in slices; threads of the kernel are
 * left out.
 */
export async function readMarkedProcesses(name: string): Promise<readonly MarkedProcess[]> {
  const found: MarkedProcess[] = [];
  await inSlices(readdirSync('/proc'), (entry) => {
    const each = readMarkedProcess(Number(entry), name);
    if (each !== undefined) found.push(each);
  });
  return found;
}

/** The same in one turn of the event loop, for a process that ends. */
export function readMarkedProcessesNow(name: string): readonly MarkedProcess[] {
  const all = readdirSync('/proc').map((entry) => readMarkedProcess(Number(entry), name));
  return all.filter((each) => each !== undefined);
}

function readMarkedProcess(pid: number, name: string): MarkedProcess | undefined {
  const stat = Number.isInteger(pid) ? readProcess(pid) : undefined;
  if (stat === undefined || stat.isKernelThread || isOver(stat)) return undefined;
  return { ...stat, mark: readVariable(pid, name) };
}

/** A zombie counts as ended: its parent may never collect it. */
export function isOver({ state }: ProcessStat): boolean {
  return state === 'Z' || state === 'X';
}

/** The second field is in parentheses and may hold anything, also parentheses and spaces: the last `)` ends it. */
export function parseStat(text: string): ProcessStat | undefined {
  const open = text.indexOf('(');
  const close = text.lastIndexOf(')');
  if (open < 0 || close < open) return undefined;
  const fields = text.slice(close + 2).split(' ');
  const pid = Number(text.slice(0, open));
  const [state, parent, group] = fields;
  const flags = Number(fields[6]);
  const start = fields[19];
  if (state === undefined || group === undefined || start === undefined || !Number.isInteger(pid)) return undefined;
  const isKernelThread = (flags & KERNEL_THREAD) !== 0;
  return { pid, parent: Number(parent), group: Number(group), state, start_ticks: Number(start), isKernelThread };
}

/** Undefined where the environment that the process was started with has none, or may not be read. */
export function readVariable(pid: number, name: string): string | undefined {
  try {
    const variables = `\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`;
    const at = variables.indexOf(`\0${name}=`);
    if (at < 0) return undefined;
    const begin = at + name.length + 2;
    const end = variables.indexOf('\0', begin);
    return variables.slice(begin, end < 0 ? undefined : end);
  } catch {
    return undefined;
  }
}
