// Reads the restart state that the former image of this process left, if there was one.
import { closeSync, fstatSync, readSync } from 'node:fs';
import { parseRestartState, type RestartState } from './restart-state.ts';

/** Holds `PID:DESCRIPTOR`; the pid keeps child processes from reading it. */
export const RESTART_VARIABLE = 'REMORA_HANDOVER';

/** Removes the variable from `env`. Undefined for a start that is no re-exec. Throws when the restart state cannot be read. */
export function readRestartState(env: NodeJS.ProcessEnv, pid: number): RestartState | undefined {
  const value = env[RESTART_VARIABLE];
  delete env[RESTART_VARIABLE];
  const [owner, descriptor] = (value ?? '').split(':').map(Number);
  if (owner !== pid || descriptor === undefined) return undefined;
  try {
    return parseRestartState(readWhole(descriptor));
  } finally {
    closeSync(descriptor);
  }
}

function readWhole(fd: number): string {
  const bytes = Buffer.alloc(fstatSync(fd).size);
  let at = 0;
  while (at < bytes.length) {
    const read_bytes = readSync(fd, bytes, at, bytes.length - at, at);
    if (read_bytes === 0) break;
    at += read_bytes;
  }
  return bytes.toString('utf8', 0, at);
}
