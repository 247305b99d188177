// Waits until the agent of a started machine has sent its first resume report. It is read from the record, because any platform process
// may have received it.
import { RemoraError } from '../../../core/remora-error.ts';
import { StorageFailure } from '../../storage/storage.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';

/** How many lines of the log the message quotes; the details of the error have more. */
const LINES_TOLD = 5;

export interface FirstReportOptions {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly id: string;
  readonly instance_id: string;
  readonly deadline_ms: number;
  /** Waits until the record is to be read again. Rejects when nobody waits any more. */
  readonly pause: () => Promise<void>;
}

/** `ended`: the machine ended first. `late`: it still runs after the deadline. Rejects with what `pause` throws. */
export async function awaitFirstReport(options: FirstReportOptions): Promise<'reported' | 'ended' | 'late'> {
  const end_ms = performance.now() + options.deadline_ms;
  for (;;) {
    const row = await readRecord(options);
    if (row === 'gone' || (row !== 'unknown' && row.instance_id !== options.instance_id)) return 'ended';
    if (row !== 'unknown' && row.state !== 'starting') return row.state === 'stopped' ? 'ended' : 'reported';
    if (performance.now() >= end_ms) return 'late';
    await options.pause();
  }
}

async function readRecord({
  machines,
  id,
}: Pick<FirstReportOptions, 'machines' | 'id'>): Promise<MachineRow | 'gone' | 'unknown'> {
  try {
    return (await machines.find(id)) ?? 'gone';
  } catch (error) {
    if (error instanceof StorageFailure) return 'unknown';
    throw error;
  }
}

/** Whether a stop was requested after the start. */
export async function isStopRequested({
  machines,
  id,
  instance_id,
}: Pick<FirstReportOptions, 'machines' | 'id' | 'instance_id'>): Promise<boolean> {
  const row = await machines.find(id);
  return row === undefined || row.instance_id !== instance_id || row.last_exit?.requested === true;
}

/** The error for callers that wait for the start. `lines`: the end of the machine's log. */
export function toStartFailed(outcome: 'ended' | 'late', deadline_ms: number, lines: readonly string[]): RemoraError {
  const what =
    outcome === 'ended'
      ? 'the machine ended before its agent had reported'
      : `the agent did not report within ${deadline_ms / 1_000} s, and the machine was stopped`;
  const tail = lines.slice(-LINES_TOLD).join(' | ');
  const message = tail === '' ? `${what}; its log is empty` : `${what}; the last lines of its log: ${tail}`;
  return new RemoraError('start_failed', message, { details: { log: [...lines] } });
}
