// Which version the supervisor is that runs now, by the file that it keeps.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { SUPERVISOR_FILE } from '../../core/supervisor-wire.ts';
import { isOver, readProcess } from '../../linux/processes/process-table.ts';

const supervisorNote = z.object({ pid: z.int().positive(), start_ticks: z.int(), version: z.string() });

/** Null while none runs, and where the file cannot be read. */
export function readSupervisor(stateDir: string): { readonly pid: number; readonly version: string } | null {
  const note = readNote(stateDir);
  return note === undefined ? null : { pid: note.pid, version: note.version };
}

/** Distinguishes the supervisor that runs from every other one; undefined where `readSupervisor` is null. */
export function findSupervisor(stateDir: string): string | undefined {
  const note = readNote(stateDir);
  return note === undefined ? undefined : `${note.pid} ${note.start_ticks}`;
}

function readNote(stateDir: string): z.infer<typeof supervisorNote> | undefined {
  try {
    const note = supervisorNote.parse(JSON.parse(readFileSync(join(stateDir, SUPERVISOR_FILE), 'utf8')));
    // One that was killed leaves its file, and another process may have its pid.
    const found = readProcess(note.pid);
    const isSame = found !== undefined && !isOver(found) && found.start_ticks === note.start_ticks;
    return isSame ? note : undefined;
  } catch {
    return undefined;
  }
}
