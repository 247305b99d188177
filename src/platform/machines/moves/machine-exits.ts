// The end of an instance: records how the machine ended, and starts it again where its restart policy says so.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineExit } from '../../../contract/machines.ts';
import { type Clock, toDateTime } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { StorageFailure } from '../../storage/storage.ts';
import type { InstanceEnd, MachineDriver } from '../drivers/machine-driver.ts';
import { judgeExit } from '../records/judge-restart.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { EndVerdict, MachineRecords } from './machine-records.ts';
import type { Transition } from './machine-states.ts';

export interface ExitsOptions {
  readonly driver: Pick<MachineDriver, 'state'>;
  readonly records: Pick<MachineRecords, 'end'>;
  readonly clock: Clock;
  /** Whether the end was requested. */
  readonly isRequested: (id: string) => boolean;
  /** Whether it was requested for a boot that follows: the machine is to run then. */
  readonly isRebooting: (id: string) => boolean;
  /** Whether the end is that of a snapshot that is thrown away. */
  readonly isDropping: (id: string) => boolean;
  /** Whether a caller waits for the start of the machine; that caller then decides what follows a failure. */
  readonly isAwaited: (id: string) => boolean;
  /** Runs when the machine is to be started again. */
  readonly onRestart: (id: string) => void;
  /** Runs when the machine is not started again by itself any more. */
  readonly onGivenUp: (id: string) => void;
  /** Runs when the machine is to be destroyed after its end. */
  readonly onDestroy: (id: string) => void;
  readonly signal: AbortSignal;
  readonly log: Log;
}

const RETRY_MS = 1_000;

/** An end that cannot be recorded now is recorded later; the driver does not wait for it. */
export function createExits(options: ExitsOptions): (id: string, end: InstanceEnd) => Promise<void> {
  const { driver, records, clock, signal } = options;

  async function record(id: string, exit: MachineExit, isRebooting: boolean): Promise<void> {
    if (driver.state(id) !== 'stopped') return;
    const isAwaited = options.isAwaited(id);
    const now_ms = clock.wall_ms();
    const judge = (row: MachineRow, move: Transition) => judgeEnd(row, move, { exit, isRebooting, isAwaited, now_ms });
    const ended = await records.end(id, exit, judge);
    if (ended === undefined) return;
    if (ended.verdict.isGivenUp) options.onGivenUp(id);
    if (ended.verdict.wanted === 'destroyed' && ended.row.wanted !== 'destroyed') options.onDestroy(id);
    if (ended.verdict.wanted === 'running' && !isRebooting) options.onRestart(id);
  }

  async function recordLater(id: string, exit: MachineExit, isRebooting: boolean): Promise<void> {
    try {
      for (;;) {
        await sleep(RETRY_MS, undefined, { signal });
        try {
          return await record(id, exit, isRebooting);
        } catch (error) {
          if (!(error instanceof StorageFailure)) throw error;
        }
      }
    } catch (error) {
      options.log.error({ err: error, machine: id }, 'the end of a machine could not be recorded');
    }
  }

  return async (id, end) => {
    if (options.isDropping(id)) return;
    const exit = { ...end, requested: options.isRequested(id), at: toDateTime(clock.wall_ms()) };
    const isRebooting = options.isRebooting(id);
    try {
      await record(id, exit, isRebooting);
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      void recordLater(id, exit, isRebooting);
    }
  };
}

interface EndFacts {
  readonly exit: MachineExit;
  readonly isRebooting: boolean;
  readonly isAwaited: boolean;
  readonly now_ms: number;
}

function judgeEnd(row: MachineRow, move: Transition, facts: EndFacts): EndVerdict {
  const kept = { isGivenUp: false } as const;
  if (row.wanted === 'destroyed') return { ...kept, wanted: 'destroyed' };
  if (facts.isRebooting) return { ...kept, wanted: 'running' };
  // One whose snapshot ended is still suspended: its next start is a cold one.
  if (move.to === 'suspended') return { ...kept, wanted: 'suspended' };
  // A machine that is recorded as running has reported: its start is over, also where the caller has not been answered yet.
  if (row.state === 'starting' && facts.isAwaited) return { ...kept, wanted: 'stopped' };
  const ended = { exit: facts.exit, restarts: row.restart_count, ran_ms: facts.now_ms - (row.started_at ?? 0) };
  const verdict = move.also.includes('restart by policy') ? judgeExit(row.config, ended) : 'leave';
  if (verdict === 'restart') return { ...kept, wanted: 'running' };
  if (row.config.auto_destroy === true) return { ...kept, wanted: 'destroyed' };
  return { wanted: 'stopped', isGivenUp: verdict === 'give_up' };
}
