// Moves the machines of this host: one step at a time for each, recorded before and after the driver takes it, so that the next platform
// goes on where this one ended. It does not check what a caller may see or ask.

import type { MachineConfig } from '../../../contract/machine-config.ts';
import type { DiscardCause } from '../../../contract/machine-events.ts';
import type { Clock } from '../../../core/clock.ts';
import { createKeyedMutex, type KeyedMutex } from '../../../core/keyed-mutex.ts';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { Storage } from '../../storage/storage.ts';
import type { HostMemory, InstanceEnd, MachineDriver, StopOptions, StopSignal } from '../drivers/machine-driver.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import { type CheckpointMoves, createCheckpointMoves } from './machine-checkpoints.ts';
import { createExits } from './machine-exits.ts';
import type { OnMove } from './machine-move.ts';
import { createReboots } from './machine-reboots.ts';
import { createMachineRecords, type MachineRecords } from './machine-records.ts';
import { createSleeps, type MachineSleeps } from './machine-sleeps.ts';
import { createStarts, type StartedMachine } from './machine-starts.ts';
import { createStops } from './machine-stops.ts';
import { createSuspends } from './machine-suspends.ts';
import { createUpdates, type MachineChange } from './machine-updates.ts';
import { createUpkeep } from './machine-upkeep.ts';
import { createRestarts } from './pending-restarts.ts';
import { createPendingStarts } from './pending-starts.ts';
import { createReconciliation } from './reconcile-machines.ts';
import { createReportRecorder } from './report-recorder.ts';
import { createSnapshotUses, type SnapshotUses } from './snapshot-uses.ts';
import { createWaiters, type WaitFor } from './state-waiters.ts';

export interface MachineServiceDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  /** The id of this platform process among those on the database. */
  readonly host: string;
  readonly machines: MachineStore;
  readonly onMove: OnMove;
  /** Runs after an event of the machine was recorded. */
  readonly onEvent: (machine_id: string) => void;
  readonly driver: MachineDriver;
  readonly clock: Clock;
  /** Variables with the digests of the policies of a sprite, with which its machine boots; none where nothing is restricted. */
  readonly policyVariables: (sprite_id: string) => Promise<Readonly<Record<string, string>>>;
  /** Reads whether this host is drained. */
  readonly readDrained: () => Promise<boolean>;
  /** How long a snapshot is kept; for ever when absent. */
  readonly snapshotMaxAge_ms?: number | undefined;
  /** How often the machines are looked after. */
  readonly upkeepPeriod_ms: number;
  /** How long the freeze waits after a suspend is accepted, so that the answer is sent first. */
  readonly freezeDelay_ms: number;
  /** How long a started machine has until the first report of its agent. */
  readonly startDeadline_ms: number;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
  readonly log: Log;
}

/** Every method throws `not_found`; each move throws `external_machine` for a machine that runs outside the platform, and `other_host` for
 * one of another platform process. */
export interface MachineService extends AsyncDisposable {
  /** Makes the records agree with what the driver found. Called once, before anything is served. */
  reconcile(): Promise<void>;
  /** Finishes the moves that an earlier process began, and starts the machines that are to run. Called once, after the platform listens. */
  carryOn(): void;
  /** Accepts a suspend; the freeze follows. Throws `invalid_state`, `concurrent_sprite_limit_exceeded`, or `not_eligible` with every condition. */
  suspend(id: string): Promise<void>;
  /** See `MachineSleeps`. */
  readonly sleeps: MachineSleeps;
  /**
   * Boots, thaws, or cancels a suspend. A boot forgets the known incarnation of the machine. Resolves once the machine runs and, after a
   * boot, its agent has reported. Throws `concurrent_sprite_limit_exceeded`, and `start_failed` with the end of its log.
   */
  start(id: string): Promise<StartedMachine>;
  /**
   * Ends a machine and boots it, also one that is suspended or stopped. Throws what `start` throws; where no place is free for a machine that
   * does not run, it is left as it was.
   */
  restart(id: string, options?: StopOptions): Promise<void>;
  /** Resolves once the stop is recorded; `ended` resolves when nothing of the machine runs. A frozen machine loses its memory. */
  stop(id: string, options: StopOptions): Promise<{ readonly ended: Promise<void> }>;
  /** Throws the snapshot of a suspended machine away, so that its next start is a cold one with this cause. Does nothing for any other machine. */
  discardSnapshot(id: string, cause: DiscardCause): Promise<void>;
  /** Looks now whether the host is drained, and does what is due then. Resolves when it is done; never rejects. */
  upkeep(): Promise<void>;
  /** Call it after the agent of the running machine has sent its report to this platform process. */
  reported(id: string): Promise<void>;
  /** See `Waiters.wait`. */
  wait(id: string, wanted: WaitFor): Promise<void>;
  /**
   * Gives a machine another configuration and resolves with its row: one that runs is ended and started again, the snapshot of a suspended
   * one is discarded. Does not wait for the report of the agent. Throws `conflict` for another version than the expected one, and what
   * `change` and a start throw.
   */
  update(id: string, change: MachineChange): Promise<MachineRow>;
  /** Starts a machine and does not wait for the report of its agent. Throws what `start` throws before that. */
  launch(id: string): Promise<void>;
  /** Throws `unsupported_by_driver` for a configuration that the driver cannot carry out. */
  checkConfig(config: MachineConfig): void;
  /** Sends a signal to a machine that runs. Throws `invalid_state`, and `unsupported_by_driver`. */
  signal(id: string, signal: StopSignal): Promise<void>;
  /** Stops a machine and deletes its record and files. Its waiters get `invalid_state`. */
  destroy(id: string): Promise<void>;
  /** The memory of this host. */
  capacity(): Promise<HostMemory>;
  readonly checkpoints: CheckpointMoves;
}

export function createMachineService(deps: MachineServiceDeps): MachineService {
  const { host, machines, driver, clock, log, random } = deps;
  const waiters = createWaiters();
  const mutex = createKeyedMutex();
  const closing = new AbortController();
  const { signal } = closing;
  const onMove: OnMove = (move) => deps.onMove(move).then(() => pendingStarts.moved(move.machine_id));
  const records = createMachineRecords({ ...deps, onMove, waiters });
  const restarts = createRestarts({ clock, random, boot: (id) => starts.startAgain(id) });
  const pendingStarts = createPendingStarts({
    ...deps,
    deadline_ms: deps.startDeadline_ms,
    signal,
    onReported: (id, instance_id) => waiters.settle(id, { state: 'running', instance_id }),
    onFailed: waiters.fail,
    takeTurn: (id, step) => mutex.run(id, step),
  });
  const snapshots = createSnapshotUses({ driver, records, onExit: (id, end) => onExit(id, end) });
  const suspends = createSuspends({
    ...deps,
    records,
    snapshots,
    waiters,
    mutex,
    delay_ms: deps.freezeDelay_ms,
    isStopping: (id) => stops.isStopping(id),
  });
  const callOffFreeze = suspends.callOff;
  const stops = createStops({ ...deps, records, restarts, waiters, mutex, callOffFreeze });
  const recordExit = createExits({
    ...deps,
    records,
    isRequested: (id) => stops.isStopping(id) || signal.aborted,
    isRebooting: stops.isRebooting,
    isDropping: snapshots.isDropping,
    isAwaited: pendingStarts.isAwaited,
    onRestart: restarts.schedule,
    onGivenUp: restarts.cancel,
    onDestroy: (id) => void destroyLater(id),
    signal,
  });
  const onExit = async (id: string, end: InstanceEnd) => {
    callOffFreeze(id);
    await recordExit(id, end);
  };
  driver.onExit(onExit);
  const starts = createStarts({
    ...deps,
    records,
    snapshots,
    pendingStarts,
    restarts,
    mutex,
    callOffFreeze,
    checkOpen: () => upkeep.checkOpen(),
    isExpired: ({ state_since }) => clock.wall_ms() - state_since > (deps.snapshotMaxAge_ms ?? Infinity),
    onExit,
    signal,
  });
  const restart = createReboots({ records, starts, stops, pendingStarts, mutex });
  const updates = createUpdates({ machines, driver, records, starts, stops, snapshots, mutex });
  const checkpoints = createCheckpointMoves({
    ...deps,
    records,
    mutex,
    endNow: stops.endNow,
    start: starts.start,
    signal,
  });
  const reconciliation = createReconciliation({ host, machines, driver, records });
  const recordReport = createReportRecorder({ ...deps, onMove, pendingStarts, waiters });
  const destroy = (id: string) => checkpoints.without(id, () => stops.destroy(id));
  const discardSnapshot = toDiscardSnapshot(mutex, records, snapshots);
  const upkeep = createUpkeep({
    ...deps,
    discard: discardSnapshot,
    stops,
    starts,
    restarts,
    destroy: (id) => destroy(id).catch(ignoreGone),
    period_ms: deps.upkeepPeriod_ms,
    signal,
  });

  const destroyLater = (id: string) => destroy(id).catch((err: unknown) => log.error({ err, machine: id }, LEFT));

  return {
    reconcile: reconciliation.reconcile,
    carryOn() {
      starts.serve();
      upkeep.start();
      const follow = (id: string, instance_id: string) => pendingStarts.expect(id, instance_id, false).follow();
      const drop = (id: string) => discardSnapshot(id, 'lost');
      const steps = { thaw: starts.thaw, end: stops.end, follow, boot: starts.startAgain, destroy: destroyLater, drop };
      reconciliation.carryOn(steps).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'a machine that was there before could not be carried on with');
      });
    },
    suspend: suspends.suspend,
    sleeps: createSleeps({ machines, records, suspends, stops, snapshots, mutex }),
    start: starts.start,
    stop: stops.stop,
    ...{ restart, destroy, discardSnapshot, checkpoints },
    capacity: () => driver.capacity(),
    upkeep: upkeep.look,
    reported: recordReport,
    ...updates,
    wait: (id, wanted) => waiters.wait(id, () => records.ownRow(id), wanted),
    async [Symbol.asyncDispose]() {
      suspends[Symbol.dispose]();
      restarts[Symbol.dispose]();
      const reason = new RemoraError('shutting_down', 'the platform is stopping', { retryAfter_ms: 1_000 });
      waiters.end(undefined, reason);
      closing.abort(reason);
      await checkpoints[Symbol.asyncDispose]();
      await driver[Symbol.asyncDispose]();
    },
  };
}

/** Another call has destroyed it meanwhile. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof RemoraError && error.code === 'not_found')) throw error;
}

const LEFT = 'a machine that is to be destroyed after its end is left; it is tried again';

/** Returns `MachineService.discardSnapshot`. */
function toDiscardSnapshot(
  mutex: KeyedMutex,
  records: Pick<MachineRecords, 'movableRow'>,
  snapshots: Pick<SnapshotUses, 'drop'>,
): MachineService['discardSnapshot'] {
  return (id, cause) =>
    mutex.run(id, async () => {
      const row = await records.movableRow(id);
      if (row.state === 'suspended') await snapshots.drop(row, cause);
    });
}
