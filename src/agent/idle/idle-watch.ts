// Watches for work, and suspends the machine when there has been none for long enough. Off unless a time is set; then it only
// answers why the machine is awake.
import type { IdleReport } from '../../contract/local/tasks.ts';
import { createBackoff } from '../../core/backoff.ts';
import type { Clock } from '../../core/clock.ts';
import type { HoldTime } from '../../core/hold-book.ts';
import { toIdlePace } from '../../core/idle/idle-pace.ts';
import { type IdleRefusal, type IdleSettings, toIdleReport, untilSuspend } from '../../core/idle/idle-report.ts';
import { isFromOutside } from '../../core/idle/inbound-connections.ts';
import type { InboundLook } from '../../core/idle/inbound-judge.ts';
import { beginIdle, blockersOf, type IdleSample, type IdleState, idleFor, observe } from '../../core/idle-judge.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { RunClock } from '../../core/run-clock.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { LookAtInbound } from './inbound-connections.ts';

/** After a suspend that did not come about. */
export const RETRY_MIN_MS = 60_000;
export const RETRY_MAX_MS = 1_800_000;

export interface IdleWatchOptions {
  readonly clock: Clock;
  readonly runClock: RunClock;
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly settings: IdleSettings;
  /** What the agent knows by itself, at once. */
  readonly work: () => Omit<IdleSample, 'at' | 'inbound'>;
  readonly look: LookAtInbound;
  /** Looks for a resume now: the time of an absence is not time without work. */
  readonly check: () => void;
  /** Asks for a suspend once. `recheck` is called when all is prepared, and rejects when work has arrived meanwhile. */
  readonly suspend: (recheck: () => Promise<void>) => Promise<void>;
  readonly retryMin_ms?: number;
}

export interface IdleWatch extends AsyncDisposable {
  start(signal: AbortSignal): void;
  report(): IdleReport;
  /** The machine was resumed for something: the time without work begins anew. */
  onResume(): void;
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
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;

  function now(): HoldTime {
    return { run_ms: runClock.now_ms(), wall_ms: clock.wall_ms() };
  }

  function sample(inbound: InboundLook): IdleSample {
    return { ...options.work(), at: now(), inbound };
  }

  async function freshSample(): Promise<IdleSample> {
    const inbound = await options.look(new Set(state.inbound.known.keys()), stop.signal);
    lookedAt_run_ms = runClock.now_ms();
    return sample(inbound);
  }

  function untilDue(): number | undefined {
    return after_ms === undefined ? undefined : untilSuspend(state, after_ms, refusal, now());
  }

  /** Other work makes a look at the connections needless, and a look is what costs. */
  async function look(): Promise<void> {
    options.check();
    state = observe(state, sample({ type: 'kept' }));
    if (after_ms === undefined) return;
    if (state.work.length > 0) state = observe(state, sample({ type: 'skipped' }));
    else if (runClock.now_ms() - lookedAt_run_ms >= pace.look_ms || untilDue() === 0) {
      state = observe(state, await freshSample());
    }
  }

  async function tick(): Promise<void> {
    looking = look();
    await looking;
    if (untilDue() === 0 && !stop.signal.aborted) await suspend();
  }

  async function suspend(): Promise<void> {
    const begun = resumes;
    hub.publish('idle_suspend', { idle_ms: Math.round(idleFor(state, now())), after_ms });
    try {
      await options.suspend(recheck);
      // It may be one that never comes; a resume takes this back.
      if (resumes === begun)
        putOff('the suspend was accepted, and the machine has not been resumed since', backoff.next());
    } catch (error) {
      if (resumes !== begun) return;
      const message = error instanceof Error ? error.message : String(error);
      const retry_ms = backoff.next(error instanceof RemoraError ? error.retryAfter_ms : undefined);
      putOff(message, retry_ms);
      hub.publish('idle_suspend_failed', { message, retry_ms });
    }
  }

  function putOff(message: string, retry_ms: number): void {
    const { run_ms, wall_ms } = now();
    refusal = { at_wall_ms: wall_ms, message, retry_run_ms: run_ms + retry_ms };
  }

  /** That a suspend is being prepared is not work, nor is what programs in here say to one another on being told of it. */
  async function recheck(): Promise<void> {
    const fresh = await freshSample();
    const { inbound } = fresh;
    const outside =
      inbound.type === 'seen' ? { ...inbound, connections: inbound.connections.filter(isFromOutside) } : inbound;
    const seen = observe(state, { ...fresh, suspendState: 'awake', inbound: outside });
    if (seen.since === state.since) return;
    const owners = blockersOf(seen).map(({ owner, reason }) => (reason === undefined ? owner : `${owner} (${reason})`));
    const what = owners.length === 0 ? 'a call or a hold that came and went' : owners.join(', ');
    throw new RemoraError('held', `work arrived while the suspend was prepared: ${what}`);
  }

  function schedule(): void {
    if (stop.signal.aborted) return;
    const due_ms = untilDue() ?? Number.POSITIVE_INFINITY;
    timer = setTimeout(run, Math.min(pace.sample_ms, Math.max(due_ms, 50)));
    timer.unref();
  }

  function run(): void {
    void tick().finally(schedule);
  }

  function end(): void {
    stop.abort();
    clearTimeout(timer);
  }

  return {
    start(signal) {
      if (signal.aborted) return;
      signal.addEventListener('abort', end, { once: true });
      state = observe(beginIdle(now()), sample({ type: 'kept' }));
      schedule();
    },
    report: () => toIdleReport(observe(state, sample({ type: 'kept' })), settings, refusal, now()),
    onResume() {
      resumes += 1;
      refusal = undefined;
      backoff.reset();
      state = { ...state, since: now() };
    },
    async [Symbol.asyncDispose]() {
      end();
      await looking;
    },
  };
}
