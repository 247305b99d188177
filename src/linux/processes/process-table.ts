// Reads the kernel's process table. Processes are named by pid and start time, because pids are used again.
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** One letter of proc(5): R, S, D, T, t, Z, X, I. */
  readonly state: string;
  /** Clock ticks since the boot. */
  readonly start_ticks: number;
}

export interface MarkedProcess extends ProcessStat {
  /** The value of the variable in the environment that the process was started with; undefined where it has none, or may not be read. */
  readonly mark: string | undefined;
}

/** Undefined when there is no such process. `procRoot` is /proc, or a copy of it in a test. */
export function readProcess(pid: number, procRoot = '/proc'): ProcessStat | undefined {
  try {
    return parseStat(readFileSync(`${procRoot}/${pid}/stat`, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Every process that is not a zombie, with the variable `name` of its environment, in one reading of the table. */
export function readMarkedProcesses(name: string): readonly MarkedProcess[] {
  return readdirSync('/proc').flatMap((entry) => {
    const pid = Number(entry);
    const stat = Number.isInteger(pid) ? readProcess(pid) : undefined;
    return stat === undefined || isOver(stat) ? [] : [{ ...stat, mark: readVariable(pid, name) }];
  });
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
  const start = fields[19];
  if (state === undefined || group === undefined || start === undefined || !Number.isInteger(pid)) return undefined;
  return { pid, parent: Number(parent), group: Number(group), state, start_ticks: Number(start) };
}

/** Undefined where the environment that the process was started with has none, or may not be read. */
export function readVariable(pid: number, name: string): string | undefined {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0');
    return variables.find((variable) => variable.startsWith(`${name}=`))?.slice(name.length + 1);
  } catch {
    return undefined;
  }
}
