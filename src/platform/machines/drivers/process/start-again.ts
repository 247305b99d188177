// Whether the agent of a machine has ended to be started again, how often that may be, and with what it runs.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESTART_EXIT_CODE, RESTART_FILE } from '../../../../core/restart.ts';
import type { InstanceEnd } from '../machine-driver.ts';

/** An agent that ends again and again is one that ends: the policy of its machine says what follows. */
const MOST = 20;
const WITHIN_MS = 60_000;

/** Whether the end of a process asks for another one. Its parent alone gets the exit code; what it left says it to others. */
export function asksForRestart({ exit_code, signal }: InstanceEnd, state_dir: string | undefined): boolean {
  if (exit_code !== null || signal !== null) return exit_code === RESTART_EXIT_CODE;
  return state_dir !== undefined && existsSync(join(state_dir, RESTART_FILE));
}

/** Whether one more restart of a machine is not one too many. */
export function createRestartLimit(now_ms: () => number = () => performance.now()): (id: string) => boolean {
  const machines = new Map<string, readonly number[]>();
  return (id) => {
    const now = now_ms();
    for (const [other, times] of machines) if (times.every((time) => now - time >= WITHIN_MS)) machines.delete(other);
    const times = (machines.get(id) ?? []).filter((time) => now - time < WITHIN_MS);
    if (times.length >= MOST) return false;
    machines.set(id, [...times, now]);
    return true;
  };
}

/** The environment that a process was started with; undefined when there is no such process. */
export function readEnvironment(pid: number): NodeJS.ProcessEnv | undefined {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    const pairs = variables.flatMap((variable) => {
      const at = variable.indexOf('=');
      return at < 1 ? [] : [[variable.slice(0, at), variable.slice(at + 1)] as const];
    });
    return Object.fromEntries(pairs);
  } catch {
    return undefined;
  }
}
