// Suspending this machine: prepare, ask once, and put everything back when the answer is no or nothing happens.
//
//   awake ──ask──▶ preparing ──2xx──▶ fenced ──resume──▶ resuming ──done──▶ awake
//     ▲               │ refused, error    │ no gap within 15 s of run time
//     └───────────────┴───────────────────┘
//
// core/machine/suspend-states.ts has the table of all transitions.

import type { z } from 'zod';
import type { AgentEventFields } from '../../contract/local/event-types.ts';
import type { lastSuspend } from '../../contract/local/machine.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { SuspendState } from '../../core/machine/suspend-states.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { SuspendProgress } from './suspend-progress.ts';

/** Run time after which an accepted suspend that did not happen counts as interrupted. */
export const INTERRUPTED_AFTER_MS = 15_000;
/** How long preparing may take; the hooks share this time. */
const PREPARE_LIMIT_MS = 10_000;
/** How long asking the machines API may take. */
export const ASK_LIMIT_MS = 10_000;

const NOT_FROZEN = 'the platform accepted the suspend and the machine went on running';

export interface SuspenderOptions {
  readonly clock: Clock;
  readonly hub: EventHub;
  /** Asks the machines API once; see ask-suspend.ts. */
  readonly ask: () => Promise<void>;
  /** Looks for a resume now, before a timer that may be overdue is acted on. */
  readonly check: () => void;
  /** Throws `not_eligible`, `held` and the like when the machine must stay awake. */
  readonly mayStart: (force: boolean) => Promise<void>;
  /** Throws `held` when something prevents the suspend. Called again just before the platform is asked, because work may have arrived. */
  readonly interlock: (force: boolean) => void;
  /** Fields of the `suspending` event beside the deadline: holders that are overruled, calls that will be cut. */
  readonly announce: (force: boolean) => AgentEventFields<'suspending'>;
  /** Runs the hooks, checkpoints the databases and closes idle connections, so that nothing is frozen half open. */
  readonly prepare: (fields: Readonly<Record<string, unknown>>) => Promise<void>;
  /** Takes back what `prepare` did when the machine stays awake after all. Never rejects. */
  readonly undo: (reason: string) => Promise<void>;
  /** The state of the suspend, which only the suspender moves. Other parts read it. */
  readonly progress: SuspendProgress;
  readonly interruptedAfter_ms?: number;
  /** The last suspend that the former process of the agent knew. */
  readonly last?: LastSuspend | undefined;
}

export type LastSuspend = z.infer<typeof lastSuspend>;

/** What one attempt does in its own way. */
export interface AttemptSteps {
  /** Runs when all is prepared, just before the platform is asked; the suspend is dropped when it rejects. */
  readonly recheck?: () => Promise<void>;
  /** Runs in place of `SuspenderOptions.mayStart`. */
  readonly mayStart?: () => Promise<void>;
  /** Runs in place of `SuspenderOptions.ask`. */
  readonly ask?: () => Promise<void>;
}

export interface Suspender extends Disposable {
  /**
   * Resolves when the platform accepted. A second caller joins the attempt of the first. When it rejects, the machine stays awake.
   */
  suspend(force: boolean, steps?: AttemptSteps): Promise<void>;
  /** The platform does not carry out what it accepted: takes back the preparation. Does nothing unless a suspend is accepted. */
  callOff(message: string): Promise<void>;
  /** Call it when a resume was noticed; `onRecovered`, when its recovery is done. */
  onResumed(): void;
  onRecovered(): void;
  readonly state: SuspendState;
  readonly last: LastSuspend | undefined;
}

export function createSuspender(options: SuspenderOptions): Suspender {
  const { clock, hub, progress } = options;
  const { move } = progress;
  let last = options.last;
  let running: Promise<void> | undefined;
  let watchdog: NodeJS.Timeout | undefined;
  let woken = Promise.withResolvers<void>();

  /** A function, because every `await` and every `move` may have changed the state. */
  const is = (wanted: SuspendState): boolean => progress.state === wanted;

  function settleOutcome(outcome: LastSuspend['outcome'], message?: string): void {
    const at = last?.at ?? toDateTime(clock.wall_ms());
    last = message === undefined ? { at, outcome } : { at, outcome, message };
  }

  async function attempt(force: boolean, steps: AttemptSteps): Promise<void> {
    const { mayStart = () => options.mayStart(force), ask = options.ask } = steps;
    await mayStart();
    options.interlock(force);
    if (!is('awake')) throw new RemoraError('conflict', `the machine is ${progress.state}; try again when it is awake`);
    last = { at: toDateTime(clock.wall_ms()), outcome: 'asking' };
    woken = Promise.withResolvers<void>();
    move('ask');
    const deadline = toDateTime(clock.wall_ms() + PREPARE_LIMIT_MS + ASK_LIMIT_MS);
    const fields = { ...options.announce(force), deadline, forced: force };
    hub.publish('suspending', fields);
    try {
      await options.prepare(fields);
      await steps.recheck?.();
      options.interlock(force);
      if (!is('preparing')) throw new RemoraError('conflict', 'the machine was resumed while its suspend was prepared');
      await Promise.race([ask(), woken.promise]);
    } catch (error) {
      await refused(error);
      throw error;
    }
    if (!is('preparing')) return;
    move('accepted');
    settleOutcome('accepted');
    hub.publish('suspend_accepted');
    watchdog = setTimeout(() => void callOff(NOT_FROZEN), options.interruptedAfter_ms ?? INTERRUPTED_AFTER_MS);
    watchdog.unref();
  }

  /** The suspend will not happen. The gate opens first, so that no call waits while the preparation is undone. */
  async function refused(error: unknown): Promise<void> {
    const message = toErrorMessage(error);
    if (!is('preparing')) return;
    move('refused');
    const unknown = error instanceof RemoraError && error.code === 'upstream_timeout';
    settleOutcome(unknown ? 'unknown' : 'refused', message);
    await options.undo(message);
    hub.publish('suspend_failed', { outcome: last?.outcome, message });
  }

  async function callOff(message: string): Promise<void> {
    options.check();
    if (!is('fenced')) return;
    clearTimeout(watchdog);
    move('interrupted');
    settleOutcome('interrupted', message);
    await options.undo(message);
    hub.publish('suspend_interrupted', { message });
  }

  return {
    callOff,
    suspend(force, steps = {}) {
      running ??= attempt(force, steps).finally(() => {
        running = undefined;
      });
      return running;
    },
    onResumed() {
      clearTimeout(watchdog);
      if (
        last !== undefined &&
        (last.outcome === 'asking' || last.outcome === 'accepted' || last.outcome === 'unknown')
      ) {
        settleOutcome('resumed');
      }
      move('resume');
      woken.resolve();
    },
    onRecovered() {
      move('done');
    },
    get state() {
      return progress.state;
    },
    get last() {
      return last;
    },
    [Symbol.dispose]() {
      clearTimeout(watchdog);
    },
  };
}
