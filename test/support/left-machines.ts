// Machines that outlive the platform of a test: found by their notes, and ended with the test.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { readProcess } from '../../src/linux/processes/process-table.ts';

export function isGone(pid: number): boolean {
  return [undefined, 'Z', 'X'].includes(readProcess(pid)?.state);
}

/** `dir` of a platform. Kills the groups of all its machines when the test ends. */
export function endLeftMachines(dir: string): void {
  onTestFinished(() => {
    for (const pid of listMachinePids(dir)) killGroup(pid);
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

/** Every process whose environment carries the directory of a machine of this platform. */
export function listMachinePids(dir: string): readonly number[] {
  const mark = `\0REMORA_STATE_DIR=${join(dir, 'machines')}/`;
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && !isGone(pid) && readEnvironment(pid).includes(mark));
}

function readEnvironment(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'latin1')}`;
  } catch {
    return '';
  }
}
