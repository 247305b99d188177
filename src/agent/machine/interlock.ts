// What keeps the machine from being suspended: holds, gateway calls in flight, calls and processes from outside, and being the primary of
// the replicated database, because a machine that comes back with old data could win the lease and lose the newer data.

import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentEventFields } from '../../contract/local/event-types.ts';
import type { IdleBlocker } from '../../contract/local/tasks.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Hold } from '../../core/holds/hold-book.ts';
import { type InsideWork, listInsideWork } from '../../core/idle/inside-work.ts';
import { RemoraError } from '../../core/remora-error.ts';

/** How long holds of the mode `delay` can put off a suspend at most. */
export const DELAY_MAX_MS = 5_000;
const DELAY_STEP_MS = 50;

export interface InterlockOptions {
  readonly holds: () => readonly Hold[];
  readonly openStreams: () => number;
  /** What others do in this machine from outside, as far as it is known at this moment. */
  readonly inside: () => InsideWork;
  /** Whether this machine's node is the primary; undefined when that is not known. */
  readonly isPrimary: () => boolean | undefined;
  /** `block`: calls in flight, and processes at work, prevent a suspend. `name`: the `suspending` event counts the calls, and they are cut. */
  readonly streams: () => 'block' | 'name';
  readonly delayMax_ms?: number;
}

export interface Interlock {
  /** What prevents a suspend at this moment; empty = nothing. */
  blockers(): IdleBlocker[];
  /** Throws `held`, naming each blocker, unless forced. */
  check(force: boolean): void;
  /** Fields of the `suspending` event: the holders that are overruled, and how many calls will be cut. */
  announce(force: boolean): AgentEventFields<'suspending'>;
  /** Every later `check` throws `error`, forced or not: the process is about to be replaced. */
  refuse(error: RemoraError): void;
  /** Waits, bounded, until the holds of the mode `delay` are gone. */
  delay(): Promise<void>;
}

export function createInterlock(options: InterlockOptions): Interlock {
  let refusal: RemoraError | undefined;

  function blockers(): IdleBlocker[] {
    const list = options
      .holds()
      .filter((hold) => hold.mode === 'block')
      .map(toBlocker);
    const calls = options.openStreams();
    if (options.streams() === 'block' && calls > 0) {
      list.push({ kind: 'gateway_call', owner: 'gateway', since: null, reason: `${calls} in flight` });
    }
    if (options.streams() === 'block') {
      for (const { since = null, ...blocker } of listInsideWork(options.inside())) list.push({ ...blocker, since });
    }
    if (options.isPrimary() === true) {
      const reason = 'this node is the primary; a machine that wakes up late may win the lease and lose data';
      list.push({ kind: 'primary', owner: 'replication', since: null, reason });
    }
    return list;
  }

  return {
    blockers,
    check(force) {
      if (refusal !== undefined) throw refusal;
      const list = force ? [] : blockers();
      if (list.length === 0) return;
      const names = list.map(
        (blocker) => `${blocker.owner}${blocker.reason === undefined ? '' : ` (${blocker.reason})`}`,
      );
      const message = `held awake by ${names.join(', ')}; wait, end it, or say force=true`;
      throw new RemoraError('held', message, { details: { blockers: list } });
    },
    announce(force) {
      const inside = [...options.inside().open.values()].reduce((sum, count) => sum + count, 0);
      const calls = options.openStreams() + inside;
      return { ...(force ? { overruled: blockers() } : {}), ...(calls > 0 ? { calls_cut: calls } : {}) };
    },
    refuse(error) {
      refusal = error;
    },
    async delay() {
      const end_ms = performance.now() + (options.delayMax_ms ?? DELAY_MAX_MS);
      while (performance.now() < end_ms && options.holds().some((hold) => hold.mode === 'delay'))
        await sleep(DELAY_STEP_MS);
    },
  };
}

function toBlocker(hold: Hold): IdleBlocker {
  const since = toDateTime(hold.created_wall_ms);
  return { kind: 'hold', owner: hold.name, since, ...(hold.reason === undefined ? {} : { reason: hold.reason }) };
}
