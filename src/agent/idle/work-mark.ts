// The work of this machine at one moment, with which a later moment is compared: a suspend is dropped when work has arrived since.
import type { IdleBlocker } from '../../contract/local/tasks.ts';
import type { HoldTime } from '../../core/holds/hold-book.ts';
import {
  beginIdle,
  blockersOf,
  type IdleSample,
  type IdleState,
  idleFor,
  observe,
} from '../../core/idle/idle-judge.ts';
import { RemoraError } from '../../core/remora-error.ts';

export interface WorkMark {
  /** What kept the machine awake at that moment. */
  readonly blockers: readonly IdleBlocker[];
  /** The run time without work until then. */
  readonly idle_ms: number;
  /** The error `held` when work has arrived since then, also when it is over already. */
  arrived(): RemoraError | undefined;
  /** The same after a look at the processes: rejects with it. */
  recheck(): Promise<void>;
}

export interface WorkMarkOptions {
  /** Looks for a resume now. */
  readonly check: () => void;
  /** What is seen at this moment. */
  readonly seen: () => IdleState;
  readonly now: () => HoldTime;
  /** A sample of this moment, in which a suspend that is being prepared is no work. */
  readonly sample: () => IdleSample;
  /** Brings up to date what a sample says of processes. Never rejects. */
  readonly lookInside: () => Promise<void>;
}

export async function markWork({ check, seen: see, now, sample, lookInside }: WorkMarkOptions): Promise<WorkMark> {
  check();
  await lookInside();
  const [seen, at] = [see(), now()];
  const begun = observe(beginIdle(at), sample());
  function arrived(): RemoraError | undefined {
    const later = observe(begun, sample());
    return later.since === begun.since ? undefined : toArrived(later);
  }
  return {
    blockers: blockersOf(seen),
    idle_ms: idleFor(seen, at),
    arrived,
    async recheck() {
      await lookInside();
      const error = arrived();
      if (error !== undefined) throw error;
    },
  };
}

export function toArrived(seen: IdleState): RemoraError {
  const owners = blockersOf(seen).map(({ owner, reason }) => (reason === undefined ? owner : `${owner} (${reason})`));
  const what = owners.length === 0 ? 'a call or a hold that came and went' : owners.join(', ');
  return new RemoraError('held', `work arrived while the suspend was prepared: ${what}`);
}
