// What keeps the machine from being suspended: holds, gateway calls in flight, and being the primary of the replicated
// database, where a stale machine could win the lease and lose data (design.md, section 4).
import { setTimeout as sleep } from 'node:timers/promises';
import type { IdleBlocker } from '../../contract/local/tasks.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Hold } from '../../core/hold-book.ts';
import { RemoraError } from '../../core/remora-error.ts';

/** The longest that holds of the mode `delay` can put a suspend off. */
export const DELAY_MAX_MS = 5_000;
const DELAY_STEP_MS = 50;

export interface InterlockOptions {
  readonly holds: () => readonly Hold[];
  readonly openStreams: () => number;
  /** Undefined when nobody knows. */
  readonly isPrimary: () => boolean | undefined;
  /** `block`: calls in flight stand in the way. `name`: they are named in the `suspending` event and cut. */
  readonly streams: 'block' | 'name';
  readonly delayMax_ms?: number;
}

export interface Interlock {
  /** What stands in the way now; empty = nothing. */
  blockers(): IdleBlocker[];
  /** Throws `held`, naming each blocker, unless forced. */
  check(force: boolean): void;
  /** What the `suspending` event says of it: who is overruled, and how many calls will be cut. */
  announce(force: boolean): Record<string, unknown>;
  /** Waits, bounded, until the holds of the mode `delay` are gone. */
  delay(): Promise<void>;
}

export function createInterlock(options: InterlockOptions): Interlock {
  function blockers(): IdleBlocker[] {
    const list = options
      .holds()
      .filter((hold) => hold.mode === 'block')
      .map(toBlocker);
    const calls = options.openStreams();
    if (options.streams === 'block' && calls > 0) {
      list.push({ kind: 'gateway_call', owner: 'gateway', since: null, reason: `${calls} in flight` });
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
      const list = force ? [] : blockers();
      if (list.length === 0) return;
      const names = list.map(
        (blocker) => `${blocker.owner}${blocker.reason === undefined ? '' : ` (${blocker.reason})`}`,
      );
      const message = `held awake by ${names.join(', ')}; wait, end it, or say force=true`;
      throw new RemoraError('held', message, { details: { blockers: list } });
    },
    announce(force) {
      const calls = options.openStreams();
      return { ...(force ? { overruled: blockers() } : {}), ...(calls > 0 ? { calls_cut: calls } : {}) };
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
