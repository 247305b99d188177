// The processes of a machine or a platform of a test, found by its directory.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGone } from './left-machines.ts';

/** Those that have a path of the directory among their words or variables. */
export function listProcesses(dir: string): readonly number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => !isGone(pid) && (readOf(pid, 'cmdline') + readOf(pid, 'environ')).includes(dir));
}

/** Resolves when none is left. */
export async function killProcesses(dir: string): Promise<void> {
  for (let left = listProcesses(dir); left.length > 0; left = listProcesses(dir)) {
    for (const pid of left) kill(pid);
    await sleep(20);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** Empty for a process that is gone. */
export function readOf(pid: number, name: 'cmdline' | 'environ'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
