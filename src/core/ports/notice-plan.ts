// What has to be told to the platform now, from what it was told last and what is open. Telling follows state, not events: a port
// that flaps while notices wait costs two of them at most, and what does not fit now is found again later.
import { diffPorts, isSameListener, type PortChange } from './port-diff.ts';
import type { OpenPort, PortTable } from './port-table.ts';

/** Notices of one port that may wait at a time, so that flapping while the platform is away stays bounded. */
export const WAITING_PER_PORT = 2;

export interface NoticePlanInput {
  /** What the platform knows once it has every notice that waits. */
  readonly told: PortTable;
  readonly open: PortTable;
  /** Notices that wait, by port. */
  readonly waiting: ReadonlyMap<number, number>;
  /** How many more notices may wait in all. */
  readonly room: number;
}

export interface NoticePlan {
  /** To be told, closed before opened. */
  readonly changes: readonly PortChange[];
  /** What the platform knows after these. */
  readonly told: PortTable;
  /** True when something was put off: plan again when notices have been delivered. */
  readonly behind: boolean;
}

export function planNotices({ told, open, waiting, room }: NoticePlanInput): NoticePlan {
  const all = diffPorts(told, open);
  const perPort = Map.groupBy(all, (change) => change.open.port);
  const admitted = new Set<number>();
  let left = room;
  for (const [port, changes] of perPort) {
    if ((waiting.get(port) ?? 0) >= WAITING_PER_PORT || changes.length > left) continue;
    left -= changes.length;
    admitted.add(port);
  }
  const changes = all.filter((change) => admitted.has(change.open.port));
  return { changes, told: apply(told, open, admitted), behind: admitted.size < perPort.size };
}

/** A listener that stays is kept as it is now, with a holder or sockets that may be new. */
function apply(told: PortTable, open: PortTable, admitted: ReadonlySet<number>): PortTable {
  const next = new Map<number, OpenPort>();
  for (const [port, before] of told) {
    const now = open.get(port);
    if (now !== undefined && isSameListener(before, now)) next.set(port, now);
    else if (!admitted.has(port)) next.set(port, before);
  }
  for (const port of admitted) {
    const now = open.get(port);
    if (now !== undefined) next.set(port, now);
  }
  return next;
}
