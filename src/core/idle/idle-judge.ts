// Whether this machine has work, and since when it has none. Each sample is compared with the state that the earlier ones left.
// Time is the machine's run time, so that an hour of suspension is not an hour without work.
import type { IdleBlocker } from '../../contract/local/tasks.ts';
import type { Hold, HoldTime } from '../holds/hold-book.ts';
import type { SuspendState } from '../machine/suspend-states.ts';
import { type InboundReading, type InboundState, judgeInbound, noInbound } from './inbound-judge.ts';
import type { InsideWork } from './inside-work.ts';
import { listWork } from './work-in-hand.ts';

export interface IdleSample {
  readonly at: HoldTime;
  readonly holds: readonly Hold[];
  /** Holds made and released so far: one that came and went between two samples was work. */
  readonly holdChanges: number;
  /** Calls through the gateway: those that are open, by connector, and the count of all so far. */
  readonly calls: { readonly open: ReadonlyMap<string, number>; readonly total: number };
  readonly inside: InsideWork;
  readonly suspendState: SuspendState;
  readonly isPrimary: boolean | undefined;
  readonly inbound: InboundReading;
}

export interface IdleState {
  /** The last moment at which there was work, or at which watching began. */
  readonly since: HoldTime;
  /** The last moment at which work was seen; undefined = never. */
  readonly activity: HoldTime | undefined;
  readonly work: readonly IdleBlocker[];
  readonly delays: readonly string[];
  readonly inbound: InboundState;
  readonly holdChanges: number;
  readonly calls: number;
  readonly insideCalls: number;
}

export function beginIdle(at: HoldTime): IdleState {
  const none = { work: [], delays: [], inbound: noInbound, holdChanges: 0, calls: 0, insideCalls: 0 };
  return { since: at, activity: undefined, ...none };
}

/** The state after one more sample. */
export function observe(before: IdleState, sample: IdleSample): IdleState {
  const { at, holds, holdChanges, calls, inside } = sample;
  const work = listWork({ ...sample, calls: calls.open }, before.work, at);
  const inbound = judgeInbound(before.inbound, sample.inbound, at);
  const called = calls.total !== before.calls || inside.total !== before.insideCalls;
  const cameAndWent = holdChanges !== before.holdChanges || called;
  const isBusy = work.length > 0 || cameAndWent || (inbound !== before.inbound && inbound.blockers.length > 0);
  return {
    since: isBusy ? at : before.since,
    activity: isBusy ? at : before.activity,
    work,
    delays: holds.filter(({ mode }) => mode === 'delay').map(({ name }) => name),
    inbound,
    holdChanges,
    calls: calls.total,
    insideCalls: inside.total,
  };
}

/** What keeps the machine awake now; empty = the machine is idle. */
export function blockersOf(state: IdleState): IdleBlocker[] {
  return [...state.work, ...state.inbound.blockers];
}

/** Run time without work, in milliseconds; 0 while there is some. */
export function idleFor(state: IdleState, at: HoldTime): number {
  return blockersOf(state).length > 0 ? 0 : Math.max(0, at.run_ms - state.since.run_ms);
}
