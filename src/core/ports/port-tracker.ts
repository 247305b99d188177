// Which ports have been announced. A new port whose process is not visible yet waits for up to two more scans, so that it gives
// one event, with the pid.
import { diffPorts, isSameListener, type PortChange } from './port-diff.ts';
import { type OpenPort, PID_UNKNOWN, type PortTable } from './port-table.ts';

/** Scans that a new port may wait for its pid. After that it is announced without one. */
export const PID_WAIT_SCANS = 2;

export interface TrackedPorts {
  /** The ports that have been announced as open. */
  readonly announced: PortTable;
  /** Ports that wait for their pid, with the number of scans that they have waited. */
  readonly waiting: ReadonlyMap<number, number>;
}

export interface TrackStep {
  readonly tracked: TrackedPorts;
  readonly changes: readonly PortChange[];
}

/** The state after one more scan, and the changes to announce, closed before opened. */
export function trackPorts(before: TrackedPorts, seen: PortTable): TrackStep {
  const announced = new Map<number, OpenPort>();
  const waiting = new Map<number, number>();
  for (const [port, open] of seen) {
    const waited = before.waiting.get(port) ?? 0;
    const isNew = !isSameListener(open, before.announced.get(port));
    if (isNew && open.pid === PID_UNKNOWN && waited < PID_WAIT_SCANS) waiting.set(port, waited + 1);
    else announced.set(port, open);
  }
  return { tracked: { announced, waiting }, changes: diffPorts(before.announced, announced) };
}
