// Drives the reports: sends one at a time, tries again while the platform cannot be reached, and keeps the outcome for the status.
import type { z } from 'zod';
import type { fencedOffFields, resumeReporterStatus } from '../../contract/local/resume-reports.ts';
import { createBackoff } from '../../core/backoff.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { EventHub } from '../events/event-hub.ts';
import { judgeFailure, type ReportFailure } from './judge-report-failure.ts';
import type { AcceptedReport, ReportSender } from './report-sender.ts';
import type { SpreadWait } from './spread-wait.ts';

/** How long a refused copy waits before it reports again: people may have decided by then which machine goes on. */
const FENCED_RETRY_MS = 60_000;
/** How long callers wait who need random values that no copy of the machine draws. */
const SETTLE_MS = 2_000;
/** The least time between the end of a report and one that a refused call asks for. */
const SPACING_MS = 5_000;

export interface ResumeReporterOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly log: Log;
  readonly sender: ReportSender;
  readonly spread: SpreadWait;
  readonly generation: () => number;
  /** Called with the reason why the platform refuses this machine and what to do; with undefined when it does not refuse it. */
  readonly onFence: (reason: string | undefined) => void;
}

export interface ResumeReporter extends AsyncDisposable {
  /** Reports now, in place of a report that is under way. Rejects with the reason when it is not accepted; it may be retried then. */
  report(signal: AbortSignal): Promise<void>;
  /** Drops the report that is under way, because a resume made its incarnation old. Nothing is sent until `report` is called. */
  hold(): void;
  /** Asks for a report because another call was refused for its incarnation: the answer shows whether this machine is refused. */
  doubt(): void;
  /** Call it when this incarnation has its nonce: what waits for that goes on, while the answer to the report is still to be confirmed. */
  noteNonce(): void;
  /** Resolves at `noteNonce`, when the report of this incarnation has ended, and at most two seconds after the incarnation began. */
  settled(): Promise<void>;
  status(): Omit<z.infer<typeof resumeReporterStatus>, 'nonce'>;
}

const FOREIGN_ANSWER = 'the report of this machine was answered without the mark of the platform; it is tried again';

export function createResumeReporter(options: ResumeReporterOptions): ResumeReporter {
  const { clock, hub, log, spread } = options;
  const backoff = createBackoff({ random: options.random });
  const stop = new AbortController();
  let flight: AbortController | undefined;
  let latest: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let held = false;
  let settling = createSettling();
  let fenced: { readonly code: string; readonly generation: number } | undefined;
  let last: EndedReport | undefined;
  let offset: AcceptedReport['clock'] | undefined;

  function clear(): void {
    clearTimeout(timer);
    timer = undefined;
    flight?.abort(new Error('a later report takes the place of this one'));
    flight = undefined;
  }

  function again(delay_ms: number): void {
    timer = setTimeout(() => void report(stop.signal).catch(() => undefined), delay_ms);
  }

  function report(signal: AbortSignal): Promise<void> {
    clear();
    held = false;
    if (stop.signal.aborted) return Promise.resolve();
    flight = new AbortController();
    latest = send(flight, AbortSignal.any([signal, flight.signal]));
    return latest;
  }

  async function send(mine: AbortController, signal: AbortSignal): Promise<void> {
    try {
      const accepted = await options.sender.send(signal);
      if (flight === mine) onAccepted(accepted);
    } catch (error) {
      const failure = judgeFailure(error);
      if (flight === mine) onFailure(failure);
      throw new Error(failure.reason, { cause: error });
    }
  }

  function ended(reason: string | undefined): void {
    flight = undefined;
    settling.end();
    last = { at_wall_ms: clock.wall_ms(), at_mono_ms: clock.mono_ms(), reason };
  }

  function onAccepted(taken: AcceptedReport): void {
    ended(undefined);
    backoff.reset();
    offset = taken.clock;
    spread.set(taken.reconnect_spread_ms);
    if (fenced === undefined) return;
    fenced = undefined;
    log.info({ generation: options.generation() }, 'the platform serves this machine again');
    options.onFence(undefined);
  }

  function onFailure(failure: ReportFailure): void {
    const isNews = failure.reason !== last?.reason;
    ended(failure.reason);
    switch (failure.type) {
      case 'fenced':
        onFenced(failure);
        again(FENCED_RETRY_MS);
        return;
      case 'retry':
        if (failure.isForeign && isNews) log.warn({ reason: failure.reason }, FOREIGN_ANSWER);
        again(backoff.next(failure.retryAfter_ms));
        return;
      case 'refused':
        log.warn({ reason: failure.reason }, 'the platform did not take the report of this machine');
        return;
      default:
        failure satisfies never;
    }
  }

  function onFenced({ code, known_generation, reason }: Extract<ReportFailure, { type: 'fenced' }>): void {
    const generation = options.generation();
    if (fenced?.code === code && fenced.generation === generation) return;
    fenced = { code, generation };
    const fields: z.infer<typeof fencedOffFields> = { code, known_generation };
    hub.publish('fenced_off', fields);
    log.warn({ ...fields, generation }, 'the platform refuses this machine as a copy of another');
    options.onFence(reason);
  }

  return {
    report,
    hold() {
      clear();
      backoff.reset();
      held = true;
      settling.end();
      settling = createSettling();
    },
    noteNonce: () => settling.end(),
    settled: () => settling.over,
    doubt() {
      if (held || fenced !== undefined || flight !== undefined || timer !== undefined || stop.signal.aborted) return;
      const since_ms = last === undefined ? SPACING_MS : clock.mono_ms() - last.at_mono_ms;
      again(Math.max(0, SPACING_MS - since_ms));
    },
    status: () => ({ ...toStatus(last, offset), reconnect_spread_ms: spread.spread_ms }),
    async [Symbol.asyncDispose]() {
      settling.end();
      stop.abort();
      clear();
      await latest.catch(() => undefined);
    },
  };
}

interface EndedReport {
  readonly at_wall_ms: number;
  readonly at_mono_ms: number;
  /** Absent when the platform took the report. */
  readonly reason: string | undefined;
}

function toStatus(last: EndedReport | undefined, offset: AcceptedReport['clock'] | undefined) {
  return {
    at: last === undefined ? null : toDateTime(last.at_wall_ms),
    ok: last === undefined ? null : last.reason === undefined,
    ...(last?.reason === undefined ? {} : { reason: last.reason }),
    clock_offset_ms: offset?.offset_ms ?? null,
    clock_uncertainty_ms: offset?.uncertainty_ms ?? null,
  };
}

/** `over` resolves at `end()`, or by itself after `SETTLE_MS`. */
function createSettling(): { readonly over: Promise<void>; end(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, SETTLE_MS);
  timer.unref();
  return {
    over: promise,
    end() {
      clearTimeout(timer);
      resolve();
    },
  };
}
