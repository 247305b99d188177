// Suspending this machine: prepare, ask once, and put everything back when the answer is no or nothing happens.
//
//   awake ──ask──▶ preparing ──2xx──▶ fenced ──wake──▶ resuming ──done──▶ awake
//     ▲               │ refused, error    │ no gap within 15 s of run time
//     └───────────────┴───────────────────┘
//
// design.md, section 4; the table itself is core/suspend-machine.ts.
import type { z } from 'zod';
import type { lastSuspend } from '../../contract/local/machine.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { type SuspendEvent, type SuspendState, transition } from '../../core/suspend-machine.ts';
import type { EventHub } from '../events/event-hub.ts';
import { ASK_LIMIT_MS } from './ask-suspend.ts';

/** Run time after which an accepted suspend that never came counts as not taken. */
export const INTERRUPTED_AFTER_MS = 15_000;
/** What preparing may take: the hooks together have ten seconds. */
const PREPARE_LIMIT_MS = 10_000;

export interface SuspenderOptions {
  readonly clock: Clock;
  readonly hub: EventHub;
  /** Asks the machines API once; see ask-suspend.ts. */
  readonly ask: () => Promise<void>;
  /** Looks for a resume now, before a timer that may be overdue is believed. */
  readonly check: () => void;
  /** Throws `not_eligible`, `held` and the like when the machine must stay awake. */
  readonly mayStart: (force: boolean) => Promise<void>;
  /** Throws `held` when something stands in the way now. Asked again just before the call, because work may have arrived. */
  readonly interlock: (force: boolean) => void;
  /** What the `suspending` event names besides the deadline: holders that are overruled, calls that will be cut. */
  readonly announce: (force: boolean) => Record<string, unknown>;
  /** Runs the hooks, checkpoints what is on disk, closes idle connections, so that nothing is frozen half open. */
  readonly prepare: (fields: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Takes back what `prepare` did, when the machine stays awake after all. Never rejects. */
  readonly undo: (reason: string) => Promise<void>;
  /** The fence went up, or came down again. */
  readonly onFence: (up: boolean) => void;
  readonly interruptedAfter_ms?: number;
  /** From the former image of this process. */
  readonly last?: LastSuspend | undefined;
}

export type LastSuspend = z.infer<typeof lastSuspend>;

export interface Suspender extends Disposable {
  /**
   * Resolves when the platform accepted. A second caller joins the first one's attempt. Rejects with the machine awake.
   * `recheck` runs when all is prepared, just before the platform is asked; the suspend is dropped when it rejects.
   */
  suspend(force: boolean, recheck?: () => Promise<void>): Promise<void>;
  /** A resume was noticed, or its recovery is complete. */
  onWake(): void;
  onRecovered(): void;
  readonly state: SuspendState;
  readonly last: LastSuspend | undefined;
}

export function createSuspender(options: SuspenderOptions): Suspender {
  const { clock, hub } = options;
  let state: SuspendState = 'awake';
  let last = options.last;
  let running: Promise<void> | undefined;
  let watchdog: NodeJS.Timeout | undefined;
  let woken = Promise.withResolvers<void>();

  function move(event: SuspendEvent): void {
    const before = state;
    state = transition(state, event);
    const fenced = (value: SuspendState) => value === 'fenced' || value === 'preparing';
    if (fenced(before) !== fenced(state)) options.onFence(fenced(state));
  }

  /** Asked through a function, because every await and every `move` may have changed it. */
  const is = (wanted: SuspendState): boolean => state === wanted;

  function settleOutcome(outcome: LastSuspend['outcome'], message?: string): void {
    const at = last?.at ?? toDateTime(clock.wall_ms());
    last = message === undefined ? { at, outcome } : { at, outcome, message };
  }

  async function attempt(force: boolean, recheck: () => Promise<void>): Promise<void> {
    await options.mayStart(force);
    options.interlock(force);
    if (!is('awake')) throw new RemoraError('conflict', `the machine is ${state}; try again when it is awake`);
    last = { at: toDateTime(clock.wall_ms()), outcome: 'asking' };
    woken = Promise.withResolvers<void>();
    move('ask');
    const deadline = toDateTime(clock.wall_ms() + PREPARE_LIMIT_MS + ASK_LIMIT_MS);
    const fields = { ...options.announce(force), deadline, forced: force };
    hub.publish('suspending', fields);
    try {
      await options.prepare(fields);
      await recheck();
      options.interlock(force);
      if (!is('preparing')) throw new RemoraError('conflict', 'the machine was resumed while its suspend was prepared');
      await Promise.race([options.ask(), woken.promise]);
    } catch (error) {
      await refused(error);
      throw error;
    }
    if (!is('preparing')) return;
    move('accepted');
    settleOutcome('accepted');
    hub.publish('suspend_accepted');
    watchdog = setTimeout(interrupted, options.interruptedAfter_ms ?? INTERRUPTED_AFTER_MS);
    watchdog.unref();
  }

  /** The suspend is over before it began; the fence comes down first, so that nobody waits for the undoing. */
  async function refused(error: unknown): Promise<void> {
    const message = error instanceof Error ? error.message : String(error);
    if (!is('preparing')) return;
    move('refused');
    const unknown = error instanceof RemoraError && error.code === 'upstream_timeout';
    settleOutcome(unknown ? 'unknown' : 'refused', message);
    await options.undo(message);
    hub.publish('suspend_failed', { outcome: last?.outcome, message });
  }

  function interrupted(): void {
    options.check();
    if (!is('fenced')) return;
    move('interrupted');
    const message = 'the platform accepted the suspend and the machine went on running';
    settleOutcome('interrupted', message);
    void options.undo(message).then(() => hub.publish('suspend_interrupted', { message }));
  }

  return {
    suspend(force, recheck = async () => undefined) {
      running ??= attempt(force, recheck).finally(() => {
        running = undefined;
      });
      return running;
    },
    onWake() {
      clearTimeout(watchdog);
      if (
        last !== undefined &&
        (last.outcome === 'asking' || last.outcome === 'accepted' || last.outcome === 'unknown')
      ) {
        settleOutcome('resumed');
      }
      move('wake');
      woken.resolve();
    },
    onRecovered() {
      move('done');
    },
    get state() {
      return state;
    },
    get last() {
      return last;
    },
    [Symbol.dispose]() {
      clearTimeout(watchdog);
    },
  };
}
