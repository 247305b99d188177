// Moves machines: records each step before and after the driver takes it, one step at a time for each machine, and tells those
// who wait. What a caller may see or ask is decided elsewhere; the machines of another host are that one's to move.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineExit, MachineStatus } from '../../contract/machines.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { judgeEligibility } from '../../core/suspend-eligibility.ts';
import { randomHex } from '../../core/urandom.ts';
import { createLifeStore } from '../lives/life-store.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import { type Storage, StorageFailure } from '../storage/storage.ts';
import { createTurns } from '../turns.ts';
import type { LifeEnd, MachineDriver, StopOptions } from './driver.ts';
import { toMachineFacts, toMachineSpec } from './machine-facts.ts';
import { createMachineLimits } from './machine-limits.ts';
import { createMachineStore, type MachineRow, type MachineStore } from './machine-store.ts';
import { type MachineEvent, nextState } from './transitions.ts';
import { createWaiters, type WaitFor } from './waiters.ts';

export interface MachineServiceDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  /** Names this platform process among those on the database. */
  readonly host: string;
  readonly machines: MachineStore;
  readonly sprites: SpriteStore;
  readonly driver: MachineDriver;
  readonly clock: Clock;
  /** From the answer to a suspend to the freeze, so that the answer gets out. */
  readonly freezeDelay_ms: number;
  readonly log: { error(fields: object, message: string): void };
}

/** Everything throws `not_found`, and `other_host` for a machine that another platform process runs. */
export interface MachineService extends AsyncDisposable {
  /** Makes the records agree with what the driver found. Called once, before anything is served. */
  recover(): Promise<void>;
  /** Only throws, for a caller that does not await the move. */
  check(id: string): Promise<void>;
  /** Accepts; the freeze follows. Throws `invalid_state`, `limit_reached`, or `not_eligible` with every condition. */
  suspend(id: string): Promise<void>;
  /** Boots, thaws, or calls a suspend off. A boot forgets which life of the machine counted. Resolves with the state before. Throws `limit_reached`. */
  start(id: string): Promise<MachineStatus>;
  /** Resolves when nothing of the machine runs; a frozen one loses its memory. Stopping a stopped machine does nothing. */
  stop(id: string, options: StopOptions): Promise<void>;
  /** See `Waiters.wait`. */
  wait(id: string, wanted: WaitFor): Promise<void>;
  /** Stops and forgets a machine with what it left on disk; who waits for it hears that the state can no longer come. */
  destroy(id: string): Promise<void>;
}

/** What has to be true, and what else is written, in the transaction of a move. */
interface MoveOptions {
  readonly place?: 'checkRunning' | 'checkWarm';
  /** Of a boot: names the new life, and no older one counts any more. */
  readonly instance_id?: string;
}

const INSTANCE_BYTES = 13;
const DESTROY: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };
const EXIT_RETRY_MS = 1_000;

export function createMachineService(deps: MachineServiceDeps): MachineService {
  const { storage, host, machines, driver, clock } = deps;
  const waiters = createWaiters();
  const turns = createTurns();
  const freezes = new Map<string, NodeJS.Timeout>();
  /** Machines that were asked to stop: a suspend in between is refused, and their exit is not a crash. */
  const stopping = new Set<string>();
  const closing = new AbortController();

  async function ownRow(id: string): Promise<MachineRow> {
    const row = await machines.find(id);
    if (row === undefined) throw new RemoraError('not_found', 'there is no such machine');
    if (row.host === null || row.host === host) return row;
    throw toOtherHost(row);
  }

  /** Records one move. Undefined when the event does not belong to the state. */
  async function move(id: string, event: MachineEvent, options: MoveOptions = {}): Promise<MachineStatus | undefined> {
    for (;;) {
      const row = await ownRow(id);
      const state = nextState(row.state, event);
      if (state === undefined) return undefined;
      if (!(await write(row, state, options))) continue;
      if (state === 'running') await deps.sprites.markRunning(row.sprite_id, clock.wall_ms());
      if (state === 'suspended') await deps.sprites.markWarm(row.sprite_id, clock.wall_ms());
      waiters.tell(id, { state, instance_id: options.instance_id ?? row.instance_id });
      return state;
    }
  }

  /** False when the machine has left the state of the row. */
  async function write(row: MachineRow, to: MachineStatus, { place, instance_id }: MoveOptions): Promise<boolean> {
    if (place === undefined) return await machines.move(row.id, row.state, to);
    return await storage.transaction(async (sql) => {
      await createMachineLimits(sql)[place](row);
      const inside = createMachineStore(sql);
      if (!(await inside.move(row.id, row.state, to))) return false;
      if (instance_id === undefined) return true;
      // Its disk is made here at the first boot.
      if (!(await inside.claim(row.id, host))) throw toOtherHost(row);
      await inside.setInstance(row.id, instance_id);
      await createLifeStore(sql).forget(row.sprite_id);
      return true;
    }, `places of ${row.organization_id}`);
  }

  /** A record that cannot be written now is written later, and the caller does not wait for it. */
  async function onExit(id: string, end: LifeEnd): Promise<void> {
    callOff(id);
    const requested = stopping.has(id) || closing.signal.aborted;
    const exit = { ...end, requested, at: toDateTime(clock.wall_ms()) };
    try {
      await recordExit(id, exit);
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      void recordExitLater(id, exit);
    }
  }

  async function recordExit(id: string, exit: MachineExit): Promise<void> {
    if (driver.state(id) !== 'stopped' || (await machines.find(id)) === undefined) return;
    await machines.setLastExit(id, exit);
    await move(id, 'stopped');
  }

  async function recordExitLater(id: string, exit: MachineExit): Promise<void> {
    try {
      for (;;) {
        await sleep(EXIT_RETRY_MS, undefined, { signal: closing.signal });
        try {
          return await recordExit(id, exit);
        } catch (error) {
          if (!(error instanceof StorageFailure)) throw error;
        }
      }
    } catch (error) {
      deps.log.error({ err: error, machine: id }, 'the end of a machine could not be recorded');
    }
  }

  function callOff(id: string): boolean {
    clearTimeout(freezes.get(id));
    return freezes.delete(id);
  }

  async function freeze(id: string): Promise<void> {
    if (!callOff(id) || (await machines.find(id))?.state !== 'suspending') return;
    try {
      await driver.suspend(id);
      await move(id, 'frozen');
    } catch (error) {
      if (driver.state(id) === 'stopped') return;
      if (driver.state(id) === 'suspended') await driver.resume(id);
      await move(id, 'unfrozen');
      deps.log.error({ err: error, machine: id }, 'a machine could not be frozen; it runs on');
    }
  }

  async function boot(row: MachineRow): Promise<void> {
    const sprite = await deps.sprites.find(row.sprite_id);
    if (sprite === undefined) throw new RemoraError('not_found', 'the machine has no sprite');
    const instance_id = randomHex(INSTANCE_BYTES);
    await move(row.id, 'start', { place: 'checkRunning', instance_id });
    try {
      await driver.start(toMachineSpec({ ...row, instance_id }, sprite.name));
    } catch (error) {
      await onExit(row.id, { exit_code: null, signal: null });
      throw error;
    }
    await move(row.id, 'started');
  }

  async function thaw(id: string): Promise<void> {
    await move(id, 'start', { place: 'checkRunning' });
    await driver.resume(id);
    await move(id, 'started');
  }

  async function end(id: string, options: StopOptions): Promise<void> {
    callOff(id);
    stopping.add(id);
    try {
      await driver.stop(id, options);
      if ((await machines.find(id))?.state !== 'stopped') await move(id, 'stopped');
    } finally {
      stopping.delete(id);
    }
  }

  driver.onExit(onExit);

  return {
    async recover() {
      await driver.recover();
      for (const row of await machines.listAwake(host)) await onExit(row.id, { exit_code: null, signal: null });
    },
    async check(id) {
      await ownRow(id);
    },
    async suspend(id) {
      const row = await ownRow(id);
      if (stopping.has(id)) throw new RemoraError('invalid_state', 'the machine is being stopped');
      const { eligible, conditions } = judgeEligibility(toMachineFacts(row));
      if (row.state === 'running' && !eligible) {
        const failing = conditions.filter((condition) => condition.verdict === 'fails');
        const message = failing.map((condition) => condition.message).join('; ');
        throw new RemoraError('not_eligible', message, { details: { conditions } });
      }
      if ((await move(id, 'suspend', { place: 'checkWarm' })) === undefined) {
        throw new RemoraError('invalid_state', `the machine is ${row.state}; only a running machine can be suspended`, {
          details: { state: row.state },
        });
      }
      callOff(id);
      freezes.set(
        id,
        setTimeout(() => {
          turns
            .take(id, () => freeze(id))
            .catch((error: unknown) => {
              deps.log.error({ err: error, machine: id }, 'a suspend could not be recorded');
            });
        }, deps.freezeDelay_ms),
      );
    },
    start: (id) =>
      turns.take(id, async () => {
        const row = await ownRow(id);
        switch (row.state) {
          case 'running':
            break;
          case 'suspending':
            callOff(id);
            await move(id, 'start');
            break;
          case 'suspended':
            if (driver.state(id) === 'stopped') await boot(row);
            else await thaw(id);
            break;
          case 'starting':
            // It runs when only the record of that is missing.
            if (driver.state(id) === 'running') await move(id, 'started');
            else await boot(row);
            break;
          case 'stopped':
            await boot(row);
            break;
          default:
            row.state satisfies never;
        }
        return row.state;
      }),
    async stop(id, options) {
      await ownRow(id);
      await turns.take(id, () => end(id, options));
    },
    async wait(id, wanted) {
      await waiters.wait(id, () => ownRow(id), wanted);
    },
    async destroy(id) {
      // Whoever starts it from now on is too late.
      await machines.claim(id, host);
      await ownRow(id);
      await turns.take(id, async () => {
        await end(id, DESTROY);
        await machines.delete(id);
        await driver.discard(id);
      });
      waiters.end(id, new RemoraError('invalid_state', 'the machine was destroyed, the state can no longer come'));
    },
    async [Symbol.asyncDispose]() {
      for (const id of [...freezes.keys()]) callOff(id);
      waiters.end(undefined, new RemoraError('shutting_down', 'the platform is stopping', { retryAfter_ms: 1_000 }));
      closing.abort();
      await driver[Symbol.asyncDispose]();
    },
  };
}

function toOtherHost({ host }: MachineRow): RemoraError {
  const message = 'another platform process runs this machine, and only that one can move it; call that one';
  return new RemoraError('other_host', message, { details: { host } });
}
