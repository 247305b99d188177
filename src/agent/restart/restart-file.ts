// The file with the restart state, beside the databases. It is taken by the first process that starts after the one that left it.
import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { RESTART_FILE } from '../../core/restart.ts';
import { readBootId } from '../../linux/boot-id.ts';
import { type RestartState, restartState } from './restart-state.ts';

const OWN_MODE = 0o600;
/** What was left longer ago belongs to a restart that did not come about. */
const AGE_MAX_MS = 10 * 60_000;

/** Milliseconds of the monotonic clock of the kernel, which all processes of a boot share. */
export function bootClock_ms(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}

/** Makes sure that a state can be left in `stateDir`. Throws when it cannot, while the agent still serves. */
export function checkRestartFile(stateDir: string): void {
  const early = `${join(stateDir, RESTART_FILE)}~`;
  write(early, ' '.repeat(4_096));
  rmSync(early, { force: true });
}

/** Writes the state, which is on the disk when it returns. Throws when it cannot be written. */
export function leaveRestartState(stateDir: string, state: RestartState): void {
  const path = join(stateDir, RESTART_FILE);
  write(`${path}~`, JSON.stringify(state));
  renameSync(`${path}~`, path);
}

/** Removes the file. Undefined when there is none, or it is of another boot, too old, or of a release that wrote it otherwise. */
export function takeRestartState(stateDir: string, now_ms = bootClock_ms()): RestartState | undefined {
  const path = join(stateDir, RESTART_FILE);
  try {
    const text = readFileSync(path, 'utf8');
    rmSync(path, { force: true });
    const state = restartState.parse(JSON.parse(text));
    const age_ms = now_ms - state.begun_boot_ms;
    return state.boot_id === readBootId() && age_ms >= 0 && age_ms <= AGE_MAX_MS ? state : undefined;
  } catch {
    return undefined;
  }
}

/** Exclusive creation follows no link. */
function write(path: string, text: string): void {
  rmSync(path, { force: true });
  const file = openSync(path, 'wx', OWN_MODE);
  try {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
