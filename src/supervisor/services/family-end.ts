// Ends a service with everything that it has started: SIGTERM, and after a while SIGKILL, until the process table shows none.
import { setTimeout as sleep } from 'node:timers/promises';
import { isAnyAlive, type ProcessFamily, readFamily, signalMembers } from '../../linux/processes/process-family.ts';
import { type MarkedProcess, readMarkedProcesses } from '../../linux/processes/process-table.ts';
import { SERVICE_VARIABLE } from './service-mark.ts';

const POLL_MS = 20;
/** Killed processes that are still there after this hang in the kernel; they are looked at less often then. */
const HUNG_MS = 10_000;
const HUNG_POLL_MS = 1_000;

const readings = new Map<number, Promise<readonly MarkedProcess[]>>();

/** Reads the table once for all who ask for it at the same time. */
function tableAfter(delay_ms: number): Promise<readonly MarkedProcess[]> {
  const known = readings.get(delay_ms);
  if (known !== undefined) return known;
  const reading = sleep(delay_ms).then(() => {
    readings.delete(delay_ms);
    return readMarkedProcesses(SERVICE_VARIABLE);
  });
  readings.set(delay_ms, reading);
  return reading;
}

export class FamilyEnd {
  /** Resolves when no process is left. */
  readonly done: Promise<void>;
  readonly #family: ProcessFamily;
  #kill_ms: number;

  /** `onHung` runs once when killed processes do not end, with their pids. */
  constructor(family: ProcessFamily, grace_ms: number, onHung: (pids: readonly number[]) => void) {
    this.#family = family;
    this.#kill_ms = performance.now() + grace_ms;
    this.done = this.#end(onHung);
  }

  /** They are killed after `grace_ms` at the latest. */
  hasten(grace_ms: number): void {
    this.#kill_ms = Math.min(this.#kill_ms, performance.now() + grace_ms);
  }

  async #end(onHung: (pids: readonly number[]) => void): Promise<void> {
    let table = await tableAfter(0);
    const first = readFamily(this.#family, table);
    await signalMembers(first, 'SIGTERM');
    await signalMembers(first, 'SIGCONT');
    let isHung = false;
    // A process that is just changing its program shows no environment: only two empty readings in a row are believed.
    for (let empty = 0; empty < 2; ) {
      const late_ms = performance.now() - this.#kill_ms;
      const members = readFamily(this.#family, table);
      empty = members.length === 0 ? empty + 1 : 0;
      if (empty === 0 && late_ms >= 0) {
        this.#family.cgroup?.kill();
        await signalMembers(members, 'SIGKILL');
      }
      if (empty === 0 && late_ms > HUNG_MS) {
        if (!isHung) onHung(members.map(({ pid }) => pid));
        isHung = true;
        await sleep(HUNG_POLL_MS);
      }
      // The table of a machine with many processes costs milliseconds: it is not read while one of these is known to be there.
      let delay_ms = POLL_MS;
      for (; performance.now() < this.#kill_ms && (await isAnyAlive(members)); delay_ms = 0) await sleep(POLL_MS);
      if (empty < 2) table = await tableAfter(delay_ms);
    }
    this.#family.cgroup?.remove();
  }
}
