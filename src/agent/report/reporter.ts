// Drives the reports: one at a time, again while the platform cannot be reached, and what the answer means kept for people.
import type { z } from 'zod';
import type { fencedOffFields, reportStatus } from '../../contract/local/report.ts';
import { createBackoff } from '../../core/backoff.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Log } from '../log.ts';
import { judgeFailure, type ReportFailure } from './judge-failure.ts';
import type { ReportSender, TakenReport } from './report-sender.ts';
import type { SpreadWait } from './spread-wait.ts';

/** A copy asks again: people may have settled which machine it is to be. */
const FENCED_RETRY_MS = 60_000;
/** From the end of one report to one that a refused call asks for. */
const SPACING_MS = 5_000;

export interface ReporterOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly sender: ReportSender;
  readonly spread: SpreadWait;
  readonly generation: () => number;
  /** Why the platform refuses this machine, with what to do; undefined when it does not. */
  readonly onFence: (reason: string | undefined) => void;
}

export interface Reporter extends AsyncDisposable {
  /** Reports now, in place of one that is under way. Rejects with the reason when it is not taken; it may be tried again then. */
  report(signal: AbortSignal): Promise<void>;
  /** The machine was resumed: what is under way tells of a former life. Nothing goes out until `report` is called. */
  hold(): void;
  /** Another call was refused because of the life it came from: a report tells whether that is so. */
  doubt(): void;
  status(): z.infer<typeof reportStatus>;
}

export function createReporter(options: ReporterOptions): Reporter {
  const { clock, hub, log, spread } = options;
  const backoff = createBackoff({ random: options.random });
  const stop = new AbortController();
  let flight: AbortController | undefined;
  let latest: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;
  let held = false;
  let fenced: { readonly code: string; readonly generation: number } | undefined;
  let last:
    | { readonly at_wall_ms: number; readonly at_mono_ms: number; readonly reason: string | undefined }
    | undefined;
  let offset: TakenReport['clock'] | undefined;

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
      const taken = await options.sender.send(signal);
      if (flight === mine) onTaken(taken);
    } catch (error) {
      const failure = judgeFailure(error);
      if (flight === mine) onFailure(failure);
      throw new Error(failure.reason, { cause: error });
    }
  }

  function ended(reason: string | undefined): void {
    flight = undefined;
    last = { at_wall_ms: clock.wall_ms(), at_mono_ms: clock.mono_ms(), reason };
  }

  function onTaken(taken: TakenReport): void {
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
    ended(failure.reason);
    switch (failure.type) {
      case 'fenced':
        onFenced(failure);
        again(FENCED_RETRY_MS);
        return;
      case 'retry':
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
    },
    doubt() {
      if (held || fenced !== undefined || flight !== undefined || timer !== undefined || stop.signal.aborted) return;
      const since_ms = last === undefined ? SPACING_MS : clock.mono_ms() - last.at_mono_ms;
      again(Math.max(0, SPACING_MS - since_ms));
    },
    status: () => ({
      at: last === undefined ? null : toDateTime(last.at_wall_ms),
      ok: last === undefined ? null : last.reason === undefined,
      ...(last?.reason === undefined ? {} : { reason: last.reason }),
      clock_offset_ms: offset?.offset_ms ?? null,
      clock_uncertainty_ms: offset?.uncertainty_ms ?? null,
      reconnect_spread_ms: spread.spread_ms,
    }),
    async [Symbol.asyncDispose]() {
      stop.abort();
      clear();
      await latest.catch(() => undefined);
    },
  };
}
