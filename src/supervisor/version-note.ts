// The file by which the agent knows which version the supervisor is, without asking it: asking would start one.
import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Log } from '../core/log.ts';
import { SUPERVISOR_FILE, type SupervisorNote } from '../core/supervisor-wire.ts';
import { makeDirectory } from '../linux/make-directory.ts';
import { readProcess } from '../linux/processes/process-table.ts';

/** Written at once, and removed by the disposal. A file that cannot be written costs nobody anything but this knowledge. */
export function openVersionNote(stateDir: string, version: string, log: Pick<Log, 'warn'>): Disposable {
  const path = join(stateDir, SUPERVISOR_FILE);
  const { pid } = process;
  const note: SupervisorNote = { pid, start_ticks: readProcess(pid)?.start_ticks ?? 0, version };
  try {
    makeDirectory(dirname(path), 0o700);
    writeFileSync(path, JSON.stringify(note), { mode: 0o600 });
  } catch (err) {
    log.warn({ err }, 'the agent cannot see which version the supervisor is');
  }
  return { [Symbol.dispose]: () => rmSync(path, { force: true }) };
}
