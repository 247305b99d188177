// Machines that were started and whose agent has not reported yet: callers that wait for the first report, and the end of a machine
// that does not report in time.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { MachineDriver, StopOptions } from '../drivers/machine-driver.ts';
import type { MachineStore } from '../records/machine-store.ts';
import { awaitFirstReport, type FirstReportOptions, isStopRequested, toStartFailed } from './await-first-report.ts';

export interface PendingStartsOptions {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly driver: Pick<MachineDriver, 'stop' | 'lastLines'>;
  readonly deadline_ms: number;
  /** Aborting it ends every wait. */
  readonly signal: AbortSignal;
  readonly onReported: (id: string, instance_id: string) => void;
  /** Runs when an awaited start has failed; the restart policy does not apply to it. */
  readonly onFailed: (id: string, error: RemoraError) => void;
  readonly log: Pick<Log, 'error'>;
  readonly takeTurn: (id: string, step: () => Promise<void>) => Promise<void>;
}

export interface ExpectedStart {
  /** Call it when the machine runs: its agent must report within the deadline from then. */
  follow(): void;
  /** Call it when the machine could not be started. */
  giveUp(): void;
}

export interface PendingStarts {
  /** `isAwaited`: see `PendingStarts.isAwaited`. */
  expect(id: string, instance_id: string, isAwaited: boolean): ExpectedStart;
  /** Whether a report is still to come. */
  isExpected(id: string): boolean;
  /** Whether a caller waits for the start; the restart policy then does not start the machine again. */
  isAwaited(id: string): boolean;
  /** Call it when the first report was recorded here: the start has succeeded, even where the machine ends at once. */
  reported(id: string, instance_id: string): void;
  /** Call it after a machine has moved: who waits for its start looks at once. */
  moved(id: string): void;
  /** Resolves when the agent has reported, or at once when no report is expected. Rejects with `start_failed`, with `invalid_state` when
   * the machine was stopped meanwhile, or with the reason of the signal. */
  ready(id: string): Promise<void>;
}

/** SIGKILL, because an end with exit code 0 would not count as a failure. */
const END: StopOptions = { signal: 'SIGKILL', timeout_ms: 0 };

const STOPPED = 'the machine was stopped before its agent had reported';

interface PendingStart {
  readonly instance_id: string;
  readonly isAwaited: boolean;
  hasReported: boolean;
  /** The machine has moved since its record was read. */
  hasMoved: boolean;
  /** Ends the pause between two looks. */
  wake: () => void;
  ready: Promise<void>;
}

/** How often a record is read: another platform process may have got the report. With many starts at once each is read more rarely. */
const LOOK_MS = 25;
const LOOK_OF_EACH_MS = 5;

export function createPendingStarts(options: PendingStartsOptions): PendingStarts {
  const { driver, machines, deadline_ms, signal } = options;
  const byMachine = new Map<string, PendingStart>();

  /** What has become of the start in the end; a machine that is late is ended, and where that fails it has one more deadline. */
  async function awaitOutcome(asked: FirstReportOptions): Promise<'reported' | 'ended' | 'late'> {
    for (;;) {
      let outcome = await awaitFirstReport(asked);
      if (outcome !== 'late') return outcome;
      try {
        await options.takeTurn(asked.id, async () => {
          outcome = await awaitFirstReport({ ...asked, deadline_ms: 0 });
          if (outcome === 'late') await driver.stop(asked.id, END);
        });
        return outcome;
      } catch (error) {
        if (signal.aborted) throw error;
        options.log.error({ err: error, machine: asked.id }, 'a machine that does not report could not be ended');
      }
    }
  }

  /** Rejects with the reason of the signal. */
  async function pause(pending: PendingStart): Promise<void> {
    const woken = new AbortController();
    pending.wake = () => woken.abort();
    const look_ms = Math.max(LOOK_MS, byMachine.size * LOOK_OF_EACH_MS);
    if (!pending.hasMoved) {
      await sleep(look_ms, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => undefined);
    }
    signal.throwIfAborted();
    pending.hasMoved = false;
  }

  async function follow(id: string, instance_id: string, pending: PendingStart): Promise<void> {
    const asked = { machines, id, instance_id, deadline_ms, pause: () => pause(pending) };
    try {
      const outcome = await awaitOutcome(asked);
      if (outcome === 'reported' || pending.hasReported) return options.onReported(id, instance_id);
      if (outcome === 'ended' && (await isStopRequested(asked))) throw new RemoraError('invalid_state', STOPPED);
      const error = toStartFailed(outcome, deadline_ms, driver.lastLines(id));
      if (pending.isAwaited) options.onFailed(id, error);
      throw error;
    } finally {
      if (byMachine.get(id) === pending) byMachine.delete(id);
    }
  }

  return {
    expect(id, instance_id, isAwaited) {
      const pending: PendingStart = {
        instance_id,
        isAwaited,
        hasReported: false,
        hasMoved: false,
        wake: () => undefined,
        ready: Promise.resolve(),
      };
      byMachine.set(id, pending);
      return {
        follow() {
          pending.ready = follow(id, instance_id, pending);
          // Callers of `ready` get the rejection; without one it must not count as unhandled.
          pending.ready.catch(() => undefined);
        },
        giveUp() {
          if (byMachine.get(id) === pending) byMachine.delete(id);
        },
      };
    },
    isExpected: (id) => byMachine.has(id),
    isAwaited: (id) => byMachine.get(id)?.isAwaited === true,
    reported(id, instance_id) {
      const pending = byMachine.get(id);
      if (pending?.instance_id === instance_id) pending.hasReported = true;
    },
    moved(id) {
      const pending = byMachine.get(id);
      if (pending === undefined) return;
      pending.hasMoved = true;
      pending.wake();
    },
    ready: async (id) => await byMachine.get(id)?.ready,
  };
}
