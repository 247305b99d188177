// What keeps the machine awake besides connections: holds, calls through the gateway, calls and processes from outside, a suspend or
// resume under way, and being the primary.
import type { IdleBlocker } from '../../contract/local/tasks.ts';
import { toDateTime } from '../clock.ts';
import type { Hold, HoldTime } from '../holds/hold-book.ts';
import type { SuspendState } from '../machine/suspend-states.ts';
import { type InsideWork, listInsideWork } from './inside-work.ts';

export interface WorkInHand {
  readonly holds: readonly Hold[];
  /** Calls through the gateway that are open, by connector. */
  readonly calls: ReadonlyMap<string, number>;
  readonly inside: InsideWork;
  readonly suspendState: SuspendState;
  /** Undefined when the role of the node is unknown. */
  readonly isPrimary: boolean | undefined;
}

const stateReasons: Readonly<Record<Exclude<SuspendState, 'awake'>, string>> = {
  preparing: 'a suspend is being asked for',
  fenced: 'a suspend was accepted and is about to come',
  resuming: 'the machine was just resumed',
};

/** `before` is the last result of this function: a blocker that goes on keeps its `since`. */
export function listWork(work: WorkInHand, before: readonly IdleBlocker[], at: HoldTime): IdleBlocker[] {
  const list: IdleBlocker[] = [];
  const add = (kind: IdleBlocker['kind'], owner: string, reason: string, begun?: string) => {
    const known = before.find((blocker) => blocker.kind === kind && blocker.owner === owner);
    list.push({ kind, owner, since: begun ?? known?.since ?? toDateTime(at.wall_ms), reason });
  };
  for (const hold of work.holds) if (hold.mode === 'block') list.push(toHoldBlocker(hold));
  for (const [connector, open] of work.calls) if (open > 0) add('gateway_call', connector, `${open} in flight`);
  for (const { kind, owner, reason, since } of listInsideWork(work.inside)) add(kind, owner, reason, since);
  const { suspendState } = work;
  if (suspendState !== 'awake') add('suspend_state', suspendState, stateReasons[suspendState]);
  if (work.isPrimary === true) add('primary', 'replication', 'this node is the primary of the replicated database');
  return list;
}

function toHoldBlocker({ name, created_wall_ms, reason, process }: Hold): IdleBlocker {
  const texts = [reason, process === undefined ? undefined : `pid ${process.pid}`].filter((text) => text !== undefined);
  const since = toDateTime(created_wall_ms);
  return { kind: 'hold', owner: name, since, ...(texts.length === 0 ? {} : { reason: texts.join('; ') }) };
}
