// The loop over the ports: reads the kernel's counters, scans when a scan is due, compares, and passes on the changes. Scans never
// overlap, and a scan that fails changes nothing.

import { type Clock, toDateTime } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { PortChange } from '../../core/ports/port-diff.ts';
import type { OpenPort, PortTable } from '../../core/ports/port-table.ts';
import { type TrackedPorts, trackPorts } from '../../core/ports/port-tracker.ts';
import { GLANCE_MS, isScanDue, LIVELY_MS, type ScanPace, smoothCost, toScanPace } from '../../core/ports/scan-pace.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { untilAligned_ms } from '../../core/timer-alignment.ts';
import type { Part } from '../parts.ts';
import type { LeftOutPorts, PortScanner } from './port-scanner.ts';

/** A scan younger than this counts as new while the counters stand still. */
const FRESH_MS = 100;

export interface PortScanStatus {
  readonly announced: PortTable;
  /** The changes: closed ports first, then opened ones. */
  readonly changes: readonly PortChange[];
}

export interface PortWatcherStatus {
  readonly period_ms: number;
  readonly scan_gap_ms: number;
  readonly scan_rest_ms: number;
  readonly scan_cost_ms: number;
  readonly idle_scan_cost_ms: number;
  readonly scans: number;
  readonly open: number;
  readonly left_out: number;
}

export interface PortWatcher extends AsyncDisposable {
  start(signal: AbortSignal): void;
  /** Resolves after a scan that began after this call. Throws `not_ready` when the scan failed. */
  scanNow(): Promise<void>;
  /** Scans unless nothing can have changed since the last scan. Throws only while no scan has ever succeeded. */
  freshen(): Promise<void>;
  /** Takes a hint that this port closed: if it is open here, a scan runs as soon as the pace allows. */
  suspect(port: number): void;
  /** Calls `listener` after every scan that succeeded, in the same turn. Returns the function that ends it. */
  onScan(listener: (report: PortScanStatus) => void): () => void;
  /** Looks more often until disposed, for a caller that waits for a port. */
  attend(): Disposable;
  readonly tracked: TrackedPorts;
  readonly leftOut: LeftOutPorts;
  /** The listener on the port, announced or left out. */
  find(port: number): OpenPort | undefined;
  /** Wall time of the last scan that succeeded. */
  readonly scannedAt_ms: number;
  /** Why the last scan failed; undefined when it did not. */
  readonly problem: string | undefined;
  status(): PortWatcherStatus;
}

export interface PortWatcherOptions {
  readonly clock: Clock;
  readonly scanner: PortScanner;
  readonly part: Part;
  /** The ports announced before the agent was started. */
  readonly announced: PortTable;
  /** A fixed period instead of one that follows the cost. */
  readonly period_ms?: number | undefined;
}

export function createPortWatcher(options: PortWatcherOptions): PortWatcher {
  const { clock, scanner, part, period_ms } = options;
  const listeners = new Set<(report: PortScanStatus) => void>();
  let tracked: TrackedPorts = { announced: options.announced, waiting: new Map() };
  let leftOut: LeftOutPorts = { own: new Map(), ignored: new Map() };
  let scannedAt_ms = 0;
  let lastEnd_ms = Number.NEGATIVE_INFINITY;
  let scans = 0;
  let idleCost_ms: number | undefined;
  let lastCost_ms = 0;
  let lastChange_ms = Number.NEGATIVE_INFINITY;
  let counters: string | undefined;
  let problem: string | undefined;
  let waiters = 0;
  let running: Promise<void> | undefined;
  let queued: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let live = false;
  let suspicion: NodeJS.Timeout | undefined;

  function pace(): ScanPace {
    if (period_ms !== undefined) return { glance_ms: period_ms, gap_ms: period_ms, rest_ms: period_ms };
    const attentive = waiters > 0 || tracked.waiting.size > 0;
    return toScanPace({
      idleCost_ms: idleCost_ms ?? 0,
      lastCost_ms,
      counters: counters !== undefined,
      lively: clock.mono_ms() - lastChange_ms < LIVELY_MS,
      attentive,
    });
  }

  function hasChanged(): boolean {
    return scanner.counters() !== counters || scanner.letGo();
  }

  async function scan(): Promise<void> {
    counters = scanner.counters();
    try {
      const { seen, leftOut: unannounced, ...cost } = await scanner.scan(tracked.announced);
      const step = trackPorts(tracked, seen);
      tracked = step.tracked;
      leftOut = unannounced;
      scannedAt_ms = clock.wall_ms();
      scans += 1;
      if (step.changes.length > 0) lastChange_ms = clock.mono_ms();
      idleCost_ms = smoothCost(idleCost_ms, cost.idleCost_ms);
      lastCost_ms = cost.cost_ms;
      problem = undefined;
      passOn({ announced: tracked.announced, changes: step.changes });
    } catch (error) {
      problem = toErrorMessage(error);
      if (scans === 0) part.set('failed', `no port can be seen: ${problem}`);
      else part.set('degraded', `the ports are those of ${toDateTime(scannedAt_ms)}: ${problem}`);
      throw error instanceof RemoraError ? error : new RemoraError('not_ready', problem, { cause: error });
    } finally {
      lastEnd_ms = clock.mono_ms();
    }
  }

  /** A subscriber that throws does not keep the report from the others. */
  function passOn(report: PortScanStatus): void {
    const failures: string[] = [];
    for (const listener of listeners) {
      try {
        listener(report);
      } catch (error) {
        failures.push(toErrorMessage(error));
      }
    }
    if (failures.length === 0) part.set('ok');
    else part.set('degraded', `a change of ports could not be passed on: ${failures.join('; ')}`);
  }

  function begin(): Promise<void> {
    const mine = scan().finally(() => {
      running = undefined;
      schedule();
    });
    running = mine;
    return mine;
  }

  function scanNow(): Promise<void> {
    if (running === undefined) return begin();
    queued ??= running
      .catch(() => undefined)
      .then(() => {
        queued = undefined;
        return begin();
      });
    return queued;
  }

  function schedule(): void {
    clearTimeout(timer);
    if (!live) return;
    const { glance_ms, gap_ms } = pace();
    const untilGap_ms = gap_ms - (clock.mono_ms() - lastEnd_ms);
    const next_ms = glance_ms === GLANCE_MS ? untilAligned_ms(clock.mono_ms(), glance_ms) : glance_ms;
    timer = setTimeout(checkPorts, untilGap_ms > 0 ? Math.min(next_ms, untilGap_ms) : next_ms);
  }

  function checkPorts(): void {
    const changed = tracked.waiting.size > 0 || hasChanged();
    // A failed scan has set the state of the part; the next look tries again.
    if (isScanDue(pace(), clock.mono_ms() - lastEnd_ms, changed)) scanNow().catch(() => undefined);
    else schedule();
  }

  function find(port: number): OpenPort | undefined {
    return tracked.announced.get(port) ?? leftOut.ignored.get(port) ?? leftOut.own.get(port);
  }

  function stop(): void {
    live = false;
    clearTimeout(timer);
    clearTimeout(suspicion);
  }

  return {
    start(signal) {
      live = !signal.aborted;
      signal.addEventListener('abort', stop, { once: true });
      part.set('starting');
      if (live) scanNow().catch(() => undefined);
    },
    scanNow,
    suspect(port) {
      if (suspicion !== undefined || !live || find(port) === undefined) return;
      const gap_ms = period_ms === undefined ? pace().gap_ms : GLANCE_MS;
      const since_ms = clock.mono_ms() - lastEnd_ms;
      suspicion = setTimeout(
        () => {
          suspicion = undefined;
          scanNow().catch(() => undefined);
        },
        Math.max(0, gap_ms - since_ms),
      );
    },
    async freshen() {
      const isFresh = problem === undefined && clock.mono_ms() - lastEnd_ms < FRESH_MS;
      if (isFresh && !hasChanged()) return;
      try {
        await scanNow();
      } catch (error) {
        if (scans === 0) throw error;
      }
    },
    onScan(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    attend() {
      waiters += 1;
      schedule();
      return {
        [Symbol.dispose]() {
          waiters -= 1;
        },
      };
    },
    get tracked() {
      return tracked;
    },
    get leftOut() {
      return leftOut;
    },
    find,
    get scannedAt_ms() {
      return scannedAt_ms;
    },
    get problem() {
      return problem;
    },
    status() {
      const { glance_ms, gap_ms, rest_ms } = pace();
      return {
        period_ms: Math.round(glance_ms),
        scan_gap_ms: Math.round(gap_ms),
        scan_rest_ms: Math.round(rest_ms),
        scan_cost_ms: Math.round(lastCost_ms * 1_000) / 1_000,
        idle_scan_cost_ms: Math.round((idleCost_ms ?? 0) * 1_000) / 1_000,
        scans,
        open: tracked.announced.size,
        left_out: leftOut.own.size + leftOut.ignored.size,
      };
    },
    async [Symbol.asyncDispose]() {
      stop();
      await running?.catch(() => undefined);
      scanner[Symbol.dispose]();
    },
  };
}
