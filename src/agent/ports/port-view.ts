// The ports as the last scan showed them. A scan that fails leaves them as they were, and says why.
import type { PortChange } from '../../core/ports/port-diff.ts';
import type { OpenPort, PortTable } from '../../core/ports/port-table.ts';
import { type TrackedPorts, trackPorts } from '../../core/ports/port-tracker.ts';
import type { LeftOutPorts, PortScan } from './port-scanner.ts';

export interface PortView {
  readonly tracked: TrackedPorts;
  readonly leftOut: LeftOutPorts;
  /** The listener on the port, announced or left out. */
  find(port: number): OpenPort | undefined;
  /** Wall time of the last scan that succeeded; 0 before the first. */
  readonly scannedAt_ms: number;
  /** Why the last scan failed; undefined when it did not. */
  readonly problem: string | undefined;
}

export interface WritablePortView extends PortView {
  /** Takes a scan that succeeded. Returns what it changes of the announced ports: closed ports first, then opened ones. */
  take(scan: Pick<PortScan, 'seen' | 'leftOut'>, wall_ms: number): readonly PortChange[];
  /** Takes the reason why a scan failed. */
  fail(problem: string): void;
}

/** `announced` are the ports that were announced before the agent was started. */
export function createPortView(announced: PortTable): WritablePortView {
  let tracked: TrackedPorts = { announced, waiting: new Map() };
  let leftOut: LeftOutPorts = { own: new Map(), ignored: new Map() };
  let scannedAt_ms = 0;
  let problem: string | undefined;
  return {
    take(scan, wall_ms) {
      const step = trackPorts(tracked, scan.seen);
      tracked = step.tracked;
      leftOut = scan.leftOut;
      scannedAt_ms = wall_ms;
      problem = undefined;
      return step.changes;
    },
    fail(reason) {
      problem = reason;
    },
    find: (port) => tracked.announced.get(port) ?? leftOut.ignored.get(port) ?? leftOut.own.get(port),
    get tracked() {
      return tracked;
    },
    get leftOut() {
      return leftOut;
    },
    get scannedAt_ms() {
      return scannedAt_ms;
    },
    get problem() {
      return problem;
    },
  };
}
