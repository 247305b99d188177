// Watches for work, and suspends the machine when there was none for long enough. Without a set time it never suspends, and only
// says why the machine is awake.
import type { IdleStatus } from '../../contract/local/tasks.ts';
import { createBackoff } from '../../core/backoff.ts';
import type { Clock } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { HoldTime } from '../../core/holds/hold-book.ts';
import { beginIdle, type IdleSample, type IdleState, idleFor, observe } from '../../core/idle/idle-judge.ts';
import { toIdlePace } from '../../core/idle/idle-pace.ts';
import { type IdleRefusal, type IdleSettings, toIdleStatus, untilSuspend } from '../../core/idle/idle-status.ts';
import type { InboundReading } from '../../core/idle/inbound-judge.ts';
import { isFromOutside } from '../../core/idle/select-inbound.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { RunClock } from '../../core/run-clock.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { ReadInbound } from './inbound-connections.ts';
import { runTicks } from './run-ticks.ts';
import { markWork, toArrived, type WorkMark } from './work-mark.ts';

/** How long to wait at least after a suspend that failed. */
export const RETRY_MIN_MS = 60_000;
export const RETRY_MAX_MS = 1_800_000;
/** However soon the machine may suspend itself, it is looked at no earlier. */
const DUE_MIN_MS = 50;

export interface IdleWatchOptions {
  readonly clock: Clock;
  readonly runClock: RunClock;
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly settings: IdleSettings;
  /** The work that the agent knows without looking at the kernel. */
  readonly work: () => Omit<IdleSample, 'at' | 'inbound'>;
  /** Brings up to date what `work` says of processes. Never rejects. */
  readonly lookInside: () => Promise<void>;
  readonly readInbound: ReadInbound;
  /** Looks for a resume now, because the time of a suspend does not count as time without work. */
  readonly check: () => void;
  /** Asks for one suspend. `recheck` is called when all is prepared, and rejects when work has arrived meanwhile. */
  readonly suspend: (recheck: () => Promise<void>) => Promise<void>;
  readonly retryMin_ms?: number;
}

export interface IdleWatch extends AsyncDisposable {
  start(signal: AbortSignal): void;
  status(): IdleStatus;
  /** Notes the work of this moment. A suspend that is prepared later does not count as work. */
  mark(): Promise<WorkMark>;
  /** Call it at a resume: the time without work starts over, because the machine was resumed for some work. */
  onResumed(): void;
}

export function createIdleWatch(options: IdleWatchOptions): IdleWatch {
  const { clock, runClock, hub, settings } = options;
  const { after_ms } = settings;
  const pace = toIdlePace(after_ms);
  const min_ms = options.retryMin_ms ?? RETRY_MIN_MS;
  const backoff = createBackoff({ random: options.random, min_ms, max_ms: Math.max(RETRY_MAX_MS, min_ms) });
  const stop = new AbortController();
  let state: IdleState = beginIdle(now());
  let refusal: IdleRefusal | undefined;
  let resumes = 0;
  let lookedAt_run_ms = Number.NEGATIVE_INFINITY;
  let looking: Promise<void> | undefined;

  function now(): HoldTime {
    return { run_ms: runClock.now_ms(), wall_ms: clock.wall_ms() };
  }

  function sample(inbound: InboundReading): IdleSample {
    return { ...options.work(), at: now(), inbound };
  }

  async function freshSample(): Promise<IdleSample> {
    await options.lookInside();
    const inbound = await options.readInbound(new Set(state.inbound.known.keys()), stop.signal);
    lookedAt_run_ms = runClock.now_ms();
    return sample(inbound);
  }

  /** What is seen is kept, else the next look would count a call that has come and gone once more. */
  function seenNow(): IdleState {
    const seen = observe(state, sample({ type: 'kept' }));
    if (options.work().suspendState === 'awake') state = seen;
    return seen;
  }

  function untilDue(): number | undefined {
    return after_ms === undefined ? undefined : untilSuspend(state, after_ms, refusal, now());
  }

  /** Looks at the connections only when there is no other work, because that look is expensive. */
  async function checkWork(): Promise<void> {
    options.check();
    await options.lookInside();
    state = observe(state, sample({ type: 'kept' }));
    if (after_ms === undefined) return;
    if (state.work.length > 0) state = observe(state, sample({ type: 'skipped' }));
    else if (runClock.now_ms() - lookedAt_run_ms >= pace.look_ms || untilDue() === 0) {
      // Read first: a resume during the look changes the state.
      const fresh = await freshSample();
      state = observe(state, fresh);
    }
  }

  async function tick(): Promise<void> {
    looking = checkWork();
    await looking;
    if (untilDue() === 0 && !stop.signal.aborted) await suspend();
  }

  async function suspend(): Promise<void> {
    const begun = resumes;
    const { since } = state;
    hub.publish('idle_suspend', { idle_ms: Math.round(idleFor(state, now())), after_ms });
    try {
      await options.suspend(() => recheck(since));
      // The accepted suspend may never happen; a resume takes this back.
      if (resumes === begun)
        postpone('the suspend was accepted, and the machine has not been resumed since', backoff.next());
    } catch (error) {
      if (resumes !== begun) return;
      const message = toErrorMessage(error);
      const retry_ms = backoff.next(error instanceof RemoraError ? error.retryAfter_ms : undefined);
      postpone(message, retry_ms);
      hub.publish('idle_suspend_failed', { message, retry_ms });
    }
  }

  function postpone(message: string, retry_ms: number): void {
    const { run_ms, wall_ms } = now();
    refusal = { at_wall_ms: wall_ms, message, retry_run_ms: run_ms + retry_ms };
  }

  /** Neither the preparation of the suspend counts as work, nor the traffic between local programs that it causes. */
  async function recheck(since: HoldTime): Promise<void> {
    const fresh = await freshSample();
    const seen = observe(state, { ...fresh, suspendState: 'awake', inbound: toOutside(fresh.inbound) });
    if (seen.since !== since) throw toArrived(seen);
  }

  return {
    start(signal) {
      if (signal.aborted) return;
      signal.addEventListener('abort', () => stop.abort(), { once: true });
      state = observe(beginIdle(now()), sample({ type: 'kept' }));
      runTicks(stop.signal, tick, () => Math.min(pace.sample_ms, Math.max(untilDue() ?? Infinity, DUE_MIN_MS)));
    },
    mark: () =>
      markWork({
        check: options.check,
        lookInside: options.lookInside,
        seen: seenNow,
        now,
        sample: () => ({ ...sample({ type: 'kept' }), suspendState: 'awake' }),
      }),
    status: () => toIdleStatus(seenNow(), settings, refusal, now()),
    onResumed() {
      resumes += 1;
      refusal = undefined;
      backoff.reset();
      state = { ...state, since: now() };
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await looking;
    },
  };
}

function toOutside(inbound: InboundReading): InboundReading {
  return inbound.type === 'seen' ? { ...inbound, connections: inbound.connections.filter(isFromOutside) } : inbound;
}
