// Moves the machines of this host: one step at a time for each, recorded before and after the driver takes it, so that the next platform
// goes on where this one ended. It does not check what a caller may see or ask.
import type { MachineStatus } from '../../../contract/machines.ts';
import type { Clock } from '../../../core/clock.ts';
import { createKeyedMutex } from '../../../core/keyed-mutex.ts';
import type { Log } from '../../../core/log.ts';
import { judgeEligibility } from '../../../core/machine/suspend-eligibility.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { randomFraction, randomHex } from '../../../core/urandom.ts';
import type { Storage } from '../../storage/storage.ts';
import type { InstanceEnd, MachineDriver, StopOptions } from '../drivers/machine-driver.ts';
import { toMachineFacts, toMachineSpec } from '../records/machine-facts.ts';
import type { MachineRow, MachineStore } from '../records/machine-store.ts';
import { createExits } from './machine-exits.ts';
import type { OnMove } from './machine-move.ts';
import { createMachineRecords } from './machine-records.ts';
import { createFreezes } from './pending-freezes.ts';
import { createRestarts } from './pending-restarts.ts';
import { createBoots } from './pending-starts.ts';
import { createRecovered } from './recover-machines.ts';
import { createWaiters, type WaitFor } from './state-waiters.ts';

export interface MachineServiceDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  /** The id of this platform process among those on the database. */
  readonly host: string;
  readonly machines: MachineStore;
  readonly onMove: OnMove;
  readonly driver: MachineDriver;
  readonly clock: Clock;
  /** How long the freeze waits after a suspend is accepted, so that the answer is sent first. */
  readonly freezeDelay_ms: number;
  /** How long a started machine has until the first report of its agent. */
  readonly startDeadline_ms: number;
  readonly log: Log;
}

/** Every method throws `not_found`; each move throws `external_machine` for a machine that runs outside the platform, and `other_host` for
 * one of another platform process. */
export interface MachineService extends AsyncDisposable {
  /** Makes the records agree with what the driver found. Called once, before anything is served. */
  recover(): Promise<void>;
  /** Finishes the moves that an earlier process began, and starts the machines that are to run. Called once, after the platform listens. */
  carryOn(): void;
  /** Accepts a suspend; the freeze follows. Throws `invalid_state`, `limit_reached`, or `not_eligible` with every condition. */
  suspend(id: string): Promise<void>;
  /**
   * Boots, thaws, or cancels a suspend. A boot forgets the known incarnation of the machine. Resolves with the state before, once the
   * machine runs and, after a boot, its agent has reported. Throws `limit_reached`, and `start_failed` with the end of its log.
   */
  start(id: string): Promise<MachineStatus>;
  /** Resolves once the stop is recorded; `ended` resolves when nothing of the machine runs. A frozen machine loses its memory. */
  stop(id: string, options: StopOptions): Promise<{ readonly ended: Promise<void> }>;
  /** Call it after the agent of the running machine has sent its report to this platform process. */
  reported(id: string): Promise<void>;
  /** See `Waiters.wait`. */
  wait(id: string, wanted: WaitFor): Promise<void>;
  /** Stops a machine and deletes its record and files. Its waiters get `invalid_state`. */
  destroy(id: string): Promise<void>;
}

const INSTANCE_BYTES = 13;
const DESTROY: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };

export function createMachineService(deps: MachineServiceDeps): MachineService {
  const { host, machines, driver, clock, log } = deps;
  const waiters = createWaiters();
  const mutex = createKeyedMutex();
  const records = createMachineRecords({ ...deps, waiters });
  const freezes = createFreezes(deps.freezeDelay_ms, freeze);
  const restarts = createRestarts({ clock, random: randomFraction, boot: bootAgain });
  /** Machines that are being stopped: a suspend meanwhile is refused, and their exit is not a crash. */
  const stopping = new Set<string>();
  const closing = new AbortController();
  const boots = createBoots({
    machines,
    driver,
    deadline_ms: deps.startDeadline_ms,
    signal: closing.signal,
    onReported: (id, instance_id) => waiters.settle(id, { state: 'running', instance_id }),
    onFailed: waiters.fail,
    takeTurn: (id, step) => mutex.run(id, step),
  });
  const recovered = createRecovered({ host, machines, driver, records });
  const serving = Promise.withResolvers<void>();

  const recordExit = createExits({
    driver,
    records,
    clock,
    isRequested: (id) => stopping.has(id) || closing.signal.aborted,
    isAwaited: boots.isAwaited,
    onRestart: restarts.schedule,
    signal: closing.signal,
    log,
  });

  async function onExit(id: string, end: InstanceEnd): Promise<void> {
    freezes.callOff(id);
    await recordExit(id, end);
  }

  async function freeze(id: string): Promise<void> {
    try {
      await mutex.run(id, async () => {
        if (freezes.callOff(id) && (await machines.find(id))?.state === 'suspending') await freezeNow(id);
      });
    } catch (error) {
      log.error({ err: error, machine: id }, 'a suspend could not be recorded');
    }
  }

  async function freezeNow(id: string): Promise<void> {
    try {
      await driver.suspend(id);
      await records.move(id, 'frozen');
    } catch (error) {
      if (driver.state(id) === 'stopped') return;
      if (driver.state(id) === 'suspended') await driver.resume(id);
      await records.move(id, 'unfrozen');
      log.error({ err: error, machine: id }, 'a machine could not be frozen; it runs on');
    }
  }

  /** `isAwaited`: a caller waits for the start and decides what follows when it fails. */
  async function boot(row: MachineRow, isAwaited: boolean): Promise<void> {
    const instance_id = randomHex(INSTANCE_BYTES);
    await records.move(row.id, 'start', { place: 'checkRunning', instance_id });
    const expected = boots.expect(row.id, instance_id, isAwaited);
    try {
      await driver.start(toMachineSpec({ ...row, instance_id }));
    } catch (error) {
      await onExit(row.id, { exit_code: null, signal: null });
      expected.giveUp();
      throw error;
    }
    restarts.began(row.id);
    expected.follow();
  }

  /** Boots a machine that ended, or that was to run when the platform process before this one ended. */
  async function bootAgain(id: string): Promise<void> {
    await serving.promise;
    try {
      await mutex.run(id, async () => {
        const row = await machines.find(id);
        if (closing.signal.aborted || row?.state !== 'stopped' || row.wanted !== 'running') return;
        log.info({ machine: id, last_exit: row.last_exit }, 'a machine that ended is started again');
        await boot(row, false);
      });
      await boots.ready(id);
    } catch (error) {
      if (closing.signal.aborted) return;
      log.error({ err: error, machine: id }, 'a machine could not be started again; the next try follows');
      if (driver.state(id) === 'stopped') restarts.schedule(id);
    }
  }

  async function thaw(id: string): Promise<void> {
    await records.move(id, 'start', { place: 'checkRunning' });
    await driver.resume(id);
    await records.move(id, 'started');
  }

  async function end(id: string, options: StopOptions): Promise<void> {
    freezes.callOff(id);
    restarts.cancel(id);
    stopping.add(id);
    try {
      await machines.want(id, 'stopped');
      await driver.stop(id, options);
      if ((await machines.find(id))?.state !== 'stopped') await records.move(id, 'stopped');
    } finally {
      stopping.delete(id);
    }
  }

  async function startNow(id: string): Promise<MachineStatus> {
    const row = await movable(id);
    switch (row.state) {
      case 'running':
        break;
      case 'suspending':
        freezes.callOff(id);
        await records.move(id, 'start');
        break;
      case 'suspended':
      case 'starting':
        if (driver.state(id) === 'stopped') await boot(row, true);
        else if (driver.state(id) === 'suspended') await thaw(id);
        // The driver has thawed it already; only the record of that is missing.
        else if (!boots.isExpected(id)) await records.move(id, 'started');
        break;
      case 'stopped':
        restarts.cancel(id);
        await boot(row, true);
        break;
      default:
        row.state satisfies never;
    }
    return row.state;
  }

  /** Throws `external_machine` for a machine that runs outside the platform. */
  async function movable(id: string): Promise<MachineRow> {
    const row = await records.ownRow(id);
    if (row.config.external !== true) return row;
    throw new RemoraError(
      'external_machine',
      'this machine is run elsewhere; start, suspend and stop it where it runs',
    );
  }

  driver.onExit(onExit);

  return {
    recover: () => recovered.find(),
    carryOn() {
      serving.resolve();
      recovered
        .carryOn({
          thaw: (id) => mutex.run(id, () => thaw(id)),
          end: (id) => mutex.run(id, () => end(id, DESTROY)),
          follow: (id, instance_id) => boots.expect(id, instance_id, false).follow(),
          boot: bootAgain,
        })
        .catch((error: unknown) => {
          if (!closing.signal.aborted) log.error({ err: error }, 'a machine of before could not be carried on with');
        });
    },
    async suspend(id) {
      const row = await movable(id);
      if (stopping.has(id)) throw new RemoraError('invalid_state', 'the machine is being stopped');
      const { eligible, conditions } = judgeEligibility(toMachineFacts(row));
      if (row.state === 'running' && !eligible) {
        const failing = conditions.filter((condition) => condition.verdict === 'fails');
        const message = failing.map((condition) => condition.message).join('; ');
        throw new RemoraError('not_eligible', message, { details: { conditions } });
      }
      if ((await records.move(id, 'suspend', { place: 'checkWarm' })) === undefined) {
        throw new RemoraError('invalid_state', `the machine is ${row.state}; only a running machine can be suspended`, {
          details: { state: row.state },
        });
      }
      freezes.schedule(id);
    },
    async start(id) {
      const before = await mutex.run(id, () => startNow(id));
      await boots.ready(id);
      return before;
    },
    async stop(id, options) {
      await movable(id);
      restarts.cancel(id);
      await machines.want(id, 'stopped');
      return { ended: mutex.run(id, () => end(id, options)) };
    },
    async reported(id) {
      const row = await machines.find(id);
      const isAwaited = row?.state === 'starting' || (row?.config.external === true && row.state === 'stopped');
      if (row === undefined || !isAwaited) return;
      if (!(await machines.move(id, row.state, 'running', clock.wall_ms()))) return;
      boots.reported(id, row.instance_id);
      await deps.onMove({ sprite_id: row.sprite_id, state: 'running', at_ms: clock.wall_ms() });
      waiters.settle(id, { state: 'running', instance_id: row.instance_id });
    },
    async wait(id, wanted) {
      await waiters.wait(id, () => records.ownRow(id), wanted);
    },
    async destroy(id) {
      // Claimed first, so that no other host can start it meanwhile.
      await machines.claim(id, host);
      await records.ownRow(id);
      await mutex.run(id, async () => {
        await end(id, DESTROY);
        await machines.delete(id);
        await driver.discard(id);
      });
      waiters.end(id, new RemoraError('invalid_state', 'the machine was destroyed, the state can no longer come'));
    },
    async [Symbol.asyncDispose]() {
      freezes[Symbol.dispose]();
      restarts[Symbol.dispose]();
      waiters.end(undefined, new RemoraError('shutting_down', 'the platform is stopping', { retryAfter_ms: 1_000 }));
      closing.abort(new RemoraError('shutting_down', 'the platform is stopping', { retryAfter_ms: 1_000 }));
      await driver[Symbol.asyncDispose]();
    },
  };
}
