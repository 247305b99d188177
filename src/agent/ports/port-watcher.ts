// The loop over the ports: reads the kernel's counters, scans when a scan is due, compares, and passes on the changes. Scans never
// overlap, and a scan that fails changes nothing.

import { type Clock, toDateTime } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import type { PortChange } from '../../core/ports/port-diff.ts';
import type { PortTable } from '../../core/ports/port-table.ts';
import { createScanHistory, type ScanHistory } from '../../core/ports/scan-history.ts';
import { GLANCE_MS, isScanDue, type ScanPace } from '../../core/ports/scan-pace.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { onBeat } from '../beat.ts';
import type { Part } from '../parts.ts';
import { createPortGlance } from './port-glance.ts';
import type { PortScanner } from './port-scanner.ts';
import { createPortView, type PortView } from './port-view.ts';
import { createScanQueue } from './scan-queue.ts';

/** `freshen` makes no scan while the last one is younger than this and the kernel's counters have not changed. */
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
  /** The ports as the last scan showed them. */
  readonly view: PortView;
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
  const view = createPortView(options.announced);
  const history = createScanHistory(period_ms);
  const queue = createScanQueue(scan, () => schedule());
  const glance = createPortGlance(scanner);
  let waiters = 0;
  let timer: NodeJS.Timeout | undefined;
  let isDueAtBeat = false;
  let endBeat: (() => void) | undefined;
  let live = false;
  let suspicion: NodeJS.Timeout | undefined;

  function pace(): ScanPace {
    const attentive = waiters > 0 || view.tracked.waiting.size > 0;
    return history.pace({ mono_ms: clock.mono_ms(), hasCounters: glance.hasCounters, attentive });
  }

  async function scan(): Promise<void> {
    glance.note();
    try {
      const found = await scanner.scan(view.tracked.announced);
      const changes = view.take(found, clock.wall_ms());
      history.note(found, changes.length > 0, clock.mono_ms());
      const failures = passOn({ announced: view.tracked.announced, changes }, listeners);
      if (failures.length === 0) part.set('ok');
      else part.set('degraded', `a change of ports could not be passed on: ${failures.join('; ')}`);
    } catch (error) {
      const problem = toErrorMessage(error);
      view.fail(problem);
      if (history.scans === 0) part.set('failed', `no port can be seen: ${problem}`);
      else part.set('degraded', `the ports are those of ${toDateTime(view.scannedAt_ms)}: ${problem}`);
      throw error instanceof RemoraError ? error : new RemoraError('not_ready', problem, { cause: error });
    } finally {
      history.noteEnd(clock.mono_ms());
    }
  }

  /** A scan that fails sets the state of the part, and the next look tries again. */
  function scanSoon(): void {
    queue.run().catch(() => undefined);
  }

  function schedule({ glance_ms, gap_ms } = pace()): void {
    clearTimeout(timer);
    if (!live) return;
    const untilGap_ms = gap_ms - history.since_ms(clock.mono_ms());
    const wait_ms = untilGap_ms > 0 ? Math.min(glance_ms, untilGap_ms) : glance_ms;
    isDueAtBeat = wait_ms === GLANCE_MS;
    if (!isDueAtBeat) timer = setTimeout(checkPorts, wait_ms);
  }

  function checkPorts(): void {
    isDueAtBeat = false;
    const changed = view.tracked.waiting.size > 0 || glance.lookInTurns();
    const current = pace();
    if (isScanDue(current, history.since_ms(clock.mono_ms()), changed)) scanSoon();
    else schedule(current);
  }

  function stop(): void {
    live = false;
    endBeat?.();
    clearTimeout(timer);
    clearTimeout(suspicion);
  }

  return {
    view,
    start(signal) {
      live = !signal.aborted;
      signal.addEventListener('abort', stop, { once: true });
      part.set('starting');
      if (!live) return;
      endBeat = onBeat(GLANCE_MS, () => {
        if (isDueAtBeat) checkPorts();
      });
      scanSoon();
    },
    scanNow: queue.run,
    suspect(port) {
      if (suspicion !== undefined || !live || view.find(port) === undefined) return;
      const gap_ms = period_ms === undefined ? pace().gap_ms : GLANCE_MS;
      const onGap = () => {
        suspicion = undefined;
        scanSoon();
      };
      suspicion = setTimeout(onGap, Math.max(0, gap_ms - history.since_ms(clock.mono_ms())));
    },
    async freshen() {
      const isFresh = view.problem === undefined && history.since_ms(clock.mono_ms()) < FRESH_MS;
      if (isFresh && !glance.look()) return;
      try {
        await queue.run();
      } catch (error) {
        if (history.scans === 0) throw error;
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
    status: () => toStatus(view, history, pace()),
    async [Symbol.asyncDispose]() {
      stop();
      await queue.idle();
      scanner[Symbol.dispose]();
    },
  };
}

function toStatus(view: PortView, { scans, cost }: ScanHistory, { glance_ms, gap_ms, rest_ms }: ScanPace) {
  const { tracked, leftOut } = view;
  return {
    period_ms: Math.round(glance_ms),
    scan_gap_ms: Math.round(gap_ms),
    scan_rest_ms: Math.round(rest_ms),
    scan_cost_ms: Math.round(cost.cost_ms * 1_000) / 1_000,
    idle_scan_cost_ms: Math.round(cost.idleCost_ms * 1_000) / 1_000,
    scans,
    open: tracked.announced.size,
    left_out: leftOut.own.size + leftOut.ignored.size,
  };
}

/** Calls every listener, also after one of them threw, and returns the messages of what they threw. */
function passOn(report: PortScanStatus, listeners: Iterable<(report: PortScanStatus) => void>): string[] {
  const failures: string[] = [];
  for (const listener of listeners) {
    try {
      listener(report);
    } catch (error) {
      failures.push(toErrorMessage(error));
    }
  }
  return failures;
}
