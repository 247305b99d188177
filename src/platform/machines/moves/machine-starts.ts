// Starts of machines: boots, thaws, suspends that are cancelled, and machines that are started again by themselves.
import type { DiscardCause } from '../../../contract/machine-events.ts';
import type { MachineStatus } from '../../../contract/machines.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { randomHex } from '../../../core/urandom.ts';
import type { InstanceEnd, MachineDriver } from '../drivers/machine-driver.ts';
import { countRestarts } from '../records/judge-restart.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import { toMachineSpec } from '../records/machine-views.ts';
import type { MachineRecords } from './machine-records.ts';
import type { Effect } from './machine-states.ts';
import type { Restarts } from './pending-restarts.ts';
import type { PendingStarts } from './pending-starts.ts';
import type { SnapshotUses } from './snapshot-uses.ts';

export interface StartsDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly driver: Pick<MachineDriver, 'start' | 'resume' | 'state'>;
  readonly records: Pick<MachineRecords, 'movableRow' | 'move' | 'judge' | 'want' | 'checkPlace'>;
  readonly snapshots: Pick<SnapshotUses, 'resume' | 'drop'>;
  readonly pendingStarts: Pick<PendingStarts, 'expect' | 'isExpected' | 'ready'>;
  readonly restarts: Restarts;
  readonly mutex: KeyedMutex;
  /** Cancels a freeze that is pending. */
  readonly callOffFreeze: (id: string) => void;
  /** Throws `host_drained`. */
  readonly checkOpen: () => void;
  /** Whether the snapshot of the suspended machine is too old. */
  readonly isExpired: (row: MachineRow) => boolean;
  readonly onExit: (id: string, end: InstanceEnd) => Promise<void>;
  /** Variables with the digests of the policies of a sprite, with which its machine boots; none where nothing is restricted. */
  readonly policyVariables: (sprite_id: string) => Promise<Readonly<Record<string, string>>>;
  /** Aborted when the platform ends. */
  readonly signal: AbortSignal;
  readonly log: Pick<Log, 'info' | 'error'>;
}

export interface StartedMachine {
  readonly previous_state: MachineStatus;
  /** The boot was a cold one although the machine was suspended: why its snapshot was thrown away. */
  readonly cold_start?: DiscardCause;
}

export interface MachineStarts {
  /** See `MachineService.start`. */
  start(id: string): Promise<StartedMachine>;
  /** Does what `start` does until the machine runs; the caller has its turn, and waits for the first report. */
  startNow(id: string): Promise<StartedMachine>;
  /** Boots a suspended machine without its memory; the caller has its turn. Where it may not run, the machine is left as it was. */
  bootSuspended(row: MachineRow, cause: DiscardCause): Promise<void>;
  /** Boots a machine that ended, or that was to run when the platform process before this one ended. Waits for `serve`; never rejects. */
  startAgain(id: string): Promise<void>;
  /** Lets a machine go on whose start, or whose freeze, the platform process before this one left unfinished. */
  thaw(id: string): Promise<void>;
  /** Call it when the platform listens: the agents of machines report to it. */
  serve(): void;
}

interface BootKind {
  /** A caller waits for the start and decides what follows when it fails. */
  readonly isAwaited: boolean;
  /** How often it was started again in a row, with this boot. */
  readonly restarts?: number;
}

const INSTANCE_BYTES = 13;

export function createStarts(deps: StartsDeps): MachineStarts {
  const { machines, driver, records, snapshots, pendingStarts, restarts: restartQueue, mutex, signal, log } = deps;
  const serving = Promise.withResolvers<void>();

  async function boot(row: MachineRow, kind: BootKind): Promise<void> {
    const instance_id = row.booted || row.instance_id === '' ? randomHex(INSTANCE_BYTES) : row.instance_id;
    const { isAwaited, restarts = 0 } = kind;
    const source = isAwaited ? 'user' : 'platform';
    const policies = await deps.policyVariables(row.sprite_id);
    await records.move(row.id, 'start', { place: 'checkRunning', instance_id, restarts, source });
    const expected = pendingStarts.expect(row.id, instance_id, isAwaited);
    try {
      const spec = toMachineSpec({ ...row, instance_id });
      await driver.start({ ...spec, environment: { ...spec.environment, ...policies } });
    } catch (error) {
      await deps.onExit(row.id, { exit_code: null, signal: null });
      expected.giveUp();
      throw error;
    }
    restartQueue.began(row.id);
    expected.follow();
  }

  /** A snapshot that can be used, but not now, stays one. */
  async function resumeOrStay(row: MachineRow): Promise<boolean> {
    try {
      return await snapshots.resume(row);
    } catch (error) {
      const message = toErrorMessage(error);
      if (driver.state(row.id) === 'suspended') await records.move(row.id, 'frozen', { message });
      throw error;
    }
  }

  /** A snapshot that cannot be used makes it a boot. */
  async function thawNow(row: MachineRow): Promise<void> {
    await records.move(row.id, 'start', { place: 'checkRunning' });
    if (await resumeOrStay(row)) await records.move(row.id, 'started', { source: 'platform' });
    else await boot(row, { isAwaited: true });
  }

  async function carryOut(row: MachineRow, effect: Effect | undefined): Promise<void> {
    const { id } = row;
    switch (effect) {
      case 'boot':
        restartQueue.cancel(id);
        // A snapshot that was thrown away in the record may still be there.
        if (driver.state(id) === 'suspended') await snapshots.drop(row, row.discarded ?? 'lost');
        return await boot(row, { isAwaited: true });
      case 'resume':
        if (row.state !== 'suspended' || !deps.isExpired(row)) return await thawNow(row);
        await snapshots.drop(row, 'expired');
        return await boot({ ...row, discarded: 'expired' }, { isAwaited: true });
      case 'cancel the freeze':
        deps.callOffFreeze(id);
        await records.move(id, 'start');
        return;
      case 'await the report':
        // The driver has let it go on already; only the record of that is missing.
        if (!pendingStarts.isExpected(id)) await records.move(id, 'started', { source: 'platform' });
        return;
      default:
        if (row.state !== 'running') await records.move(id, 'start');
        // A stop that failed does not count any more.
        else if (row.wanted !== 'running') await records.want(row, 'running');
    }
  }

  async function startNow(id: string): Promise<StartedMachine> {
    const row = await records.movableRow(id);
    const effect = records.judge(row, 'start').also[0];
    if (effect === 'boot' || effect === 'resume') deps.checkOpen();
    await carryOut(row, effect);
    const cause = row.state === 'running' ? null : (await machines.find(id))?.boot_cause;
    return { previous_state: row.state, ...(cause == null ? {} : { cold_start: cause }) };
  }

  return {
    async start(id) {
      const before = await mutex.run(id, () => startNow(id));
      await pendingStarts.ready(id);
      return before;
    },
    startNow,
    async bootSuspended(row, cause) {
      deps.checkOpen();
      await records.checkPlace(row);
      const discarded = row.discarded ?? cause;
      await snapshots.drop(row, discarded);
      await boot({ ...row, discarded }, { isAwaited: true });
    },
    async startAgain(id) {
      await serving.promise;
      try {
        await mutex.run(id, async () => {
          const row = await machines.find(id);
          deps.checkOpen();
          if (signal.aborted || row?.state !== 'stopped' || row.wanted !== 'running') return;
          log.info({ machine: id, last_exit: row.last_exit }, 'a machine that ended is started again');
          const ran_ms = Date.parse(row.last_exit?.at ?? '') - (row.started_at ?? 0);
          const restarts = countRestarts({ restarts: row.restart_count, ran_ms }) + 1;
          await boot(row, { isAwaited: false, restarts });
        });
        await pendingStarts.ready(id);
      } catch (error) {
        // A look at the machines starts it when the host is open again.
        if (signal.aborted || (error instanceof RemoraError && error.code === 'host_drained')) return;
        log.error({ err: error, machine: id }, 'a machine could not be started again; the next try follows');
        if (driver.state(id) === 'stopped') restartQueue.schedule(id);
      }
    },
    thaw: (id) =>
      mutex.run(id, async () => {
        const row = await records.movableRow(id);
        if (row.state === 'starting') await thawNow(row);
        else if (row.state === 'running') await goOn(deps, row);
      }),
    serve: serving.resolve,
  };
}

/**
 * A machine that an unfinished freeze may have stopped in parts goes on. It has no snapshot to lose: where it ends by itself meanwhile, that
 * end says what follows.
 */
async function goOn({ records, driver }: Pick<StartsDeps, 'records' | 'driver'>, row: MachineRow): Promise<void> {
  const state = await records.move(row.id, 'unfrozen');
  if (state !== undefined && driver.state(row.id) !== 'stopped') await driver.resume(toMachineSpec(row));
}
