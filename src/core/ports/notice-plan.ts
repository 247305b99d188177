// Which notices to send to the platform now, planned from the state that it already knows and the ports that are open. Notices
// follow state, not events: a port that flaps while notices wait costs two of them at most, and a change that does not fit now
// is found again later.
import { diffPorts, isSameListener, type PortChange } from './port-diff.ts';
import type { OpenPort, PortTable } from './port-table.ts';

/** How many notices of one port may wait at a time, so that flapping while the platform is away stays bounded. */
export const WAITING_PER_PORT = 2;

export interface NoticePlanInput {
  /** What the platform knows once it has every waiting notice. */
  readonly announced: PortTable;
  readonly open: PortTable;
  /** The number of waiting notices, by port. */
  readonly waiting: ReadonlyMap<number, number>;
  /** How many more notices may wait in all. */
  readonly room: number;
}

export interface NoticePlan {
  /** Changes to send, closed before opened. */
  readonly changes: readonly PortChange[];
  /** What the platform knows after these changes. */
  readonly announced: PortTable;
  /** True when a change was put off: plan again when notices have been delivered. */
  readonly behind: boolean;
}

export function planNotices({ announced, open, waiting, room }: NoticePlanInput): NoticePlan {
  const all = diffPorts(announced, open);
  const perPort = Map.groupBy(all, (change) => change.open.port);
  const admitted = new Set<number>();
  let left = room;
  for (const [port, changes] of perPort) {
    if ((waiting.get(port) ?? 0) >= WAITING_PER_PORT || changes.length > left) continue;
    left -= changes.length;
    admitted.add(port);
  }
  const changes = all.filter((change) => admitted.has(change.open.port));
  return { changes, announced: apply(announced, open, admitted), behind: admitted.size < perPort.size };
}

/** A listener that stays is kept with its present holder and sockets, which may be new. */
function apply(announced: PortTable, open: PortTable, admitted: ReadonlySet<number>): PortTable {
  const next = new Map<number, OpenPort>();
  for (const [port, before] of announced) {
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
