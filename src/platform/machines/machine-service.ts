// Moves machines: records each step before and after the driver takes it, one step at a time for each machine, and tells those
// who wait. What a caller may see or ask is decided elsewhere.
import type { MachineStatus } from '../../contract/machines.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { judgeEligibility } from '../../core/suspend-eligibility.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Lives } from '../lives/lives.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { LifeEnd, MachineDriver, StopOptions } from './driver.ts';
import { toMachineFacts, toMachineSpec } from './machine-facts.ts';
import type { MachineLimits } from './machine-limits.ts';
import type { MachineRow, MachineStore } from './machine-store.ts';
import { type MachineEvent, nextState } from './transitions.ts';
import { createTurns } from './turns.ts';
import { createWaiters, type WaitFor } from './waiters.ts';

export interface MachineServiceDeps {
  readonly machines: MachineStore;
  readonly sprites: SpriteStore;
  readonly driver: MachineDriver;
  readonly lives: Pick<Lives, 'forget'>;
  readonly limits: MachineLimits;
  readonly clock: Clock;
  /** From the answer to a suspend to the freeze, so that the answer gets out. */
  readonly freezeDelay_ms: number;
  readonly log: { error(fields: object, message: string): void };
}

export interface MachineService extends AsyncDisposable {
  /** Makes the records agree with what the driver found. Called once, before anything is served. */
  recover(): Promise<void>;
  /** Accepts; the freeze follows. Throws `invalid_state`, `limit_reached`, or `not_eligible` with every condition. */
  suspend(id: string): void;
  /** Boots, thaws, or calls a suspend off. A boot forgets which life of the machine counted. Returns the state before. Throws `limit_reached`. */
  start(id: string): Promise<MachineStatus>;
  /** Resolves when nothing of the machine runs; a frozen one loses its memory. Stopping a stopped machine does nothing. */
  stop(id: string, options: StopOptions): Promise<void>;
  /** See `Waiters.wait`. */
  wait(id: string, wanted: WaitFor): Promise<void>;
  /** Stops and forgets a machine with what it left on disk; who waits for it hears that the state can no longer come. */
  destroy(id: string): Promise<void>;
}

const INSTANCE_BYTES = 13;
const DESTROY: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };

export function createMachineService(deps: MachineServiceDeps): MachineService {
  const { machines, driver, clock } = deps;
  const waiters = createWaiters();
  const turns = createTurns();
  const freezes = new Map<string, NodeJS.Timeout>();
  /** Machines that were asked to stop: a suspend in between is refused, and their exit is not a crash. */
  const stopping = new Set<string>();

  function rowOf(id: string): MachineRow {
    const row = machines.find(id);
    if (row === undefined) throw new RemoraError('not_found', 'there is no such machine');
    return row;
  }

  /** Records one move. Undefined when the event does not belong to the state. */
  function move(id: string, event: MachineEvent): MachineStatus | undefined {
    const row = rowOf(id);
    const state = nextState(row.state, event);
    if (state === undefined) return undefined;
    machines.setState(id, state);
    if (state === 'running') deps.sprites.markRunning(row.sprite_id, clock.wall_ms());
    if (state === 'suspended') deps.sprites.markWarm(row.sprite_id, clock.wall_ms());
    waiters.tell(id, { state, instance_id: row.instance_id });
    return state;
  }

  function onExit(id: string, exit: LifeEnd): void {
    callOff(id);
    if (machines.find(id) === undefined) return;
    const requested = stopping.has(id);
    machines.setLastExit(id, { ...exit, requested, at: toDateTime(clock.wall_ms()) });
    move(id, 'stopped');
  }

  function callOff(id: string): boolean {
    clearTimeout(freezes.get(id));
    return freezes.delete(id);
  }

  async function freeze(id: string): Promise<void> {
    if (!callOff(id) || machines.find(id)?.state !== 'suspending') return;
    try {
      await driver.suspend(id);
      move(id, 'frozen');
    } catch (error) {
      if (driver.state(id) === 'stopped') return;
      move(id, 'unfrozen');
      deps.log.error({ err: error, machine: id }, 'a machine could not be frozen; it runs on');
    }
  }

  async function boot(row: MachineRow): Promise<void> {
    const sprite = deps.sprites.find(row.sprite_id);
    if (sprite === undefined) throw new RemoraError('not_found', 'the machine has no sprite');
    const instance_id = randomHex(INSTANCE_BYTES);
    machines.setInstance(row.id, instance_id);
    deps.lives.forget(row.sprite_id);
    move(row.id, 'start');
    try {
      await driver.start(toMachineSpec({ ...row, instance_id }, sprite.name));
    } catch (error) {
      onExit(row.id, { exit_code: null, signal: null });
      throw error;
    }
    move(row.id, 'started');
  }

  async function end(id: string, options: StopOptions): Promise<void> {
    callOff(id);
    stopping.add(id);
    try {
      await driver.stop(id, options);
      if (machines.find(id)?.state !== 'stopped') move(id, 'stopped');
    } finally {
      stopping.delete(id);
    }
  }

  driver.onExit(onExit);

  return {
    async recover() {
      await driver.recover();
      for (const row of machines.listAwake()) onExit(row.id, { exit_code: null, signal: null });
    },
    suspend(id) {
      const row = rowOf(id);
      if (stopping.has(id)) throw new RemoraError('invalid_state', 'the machine is being stopped');
      const { eligible, conditions } = judgeEligibility(toMachineFacts(row));
      if (row.state === 'running' && !eligible) {
        const failing = conditions.filter((condition) => condition.verdict === 'fails');
        const message = failing.map((condition) => condition.message).join('; ');
        throw new RemoraError('not_eligible', message, { details: { conditions } });
      }
      if (row.state === 'running') deps.limits.checkWarm(row);
      if (move(id, 'suspend') === undefined) {
        throw new RemoraError('invalid_state', `the machine is ${row.state}; only a running machine can be suspended`, {
          details: { state: row.state },
        });
      }
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
        const row = rowOf(id);
        deps.limits.checkRunning(row);
        switch (row.state) {
          case 'running':
            break;
          case 'suspending':
            callOff(id);
            move(id, 'start');
            break;
          case 'suspended':
            if (driver.state(id) === 'stopped') {
              await boot(row);
              break;
            }
            move(id, 'start');
            await driver.resume(id);
            move(id, 'started');
            break;
          case 'starting':
          case 'stopped':
            await boot(row);
            break;
          default:
            row.state satisfies never;
        }
        return row.state;
      }),
    async stop(id, options) {
      rowOf(id);
      await turns.take(id, () => end(id, options));
    },
    async wait(id, wanted) {
      await waiters.wait(id, rowOf(id), wanted);
    },
    async destroy(id) {
      const { sprite_id } = rowOf(id);
      await turns.take(id, async () => {
        await end(id, DESTROY);
        machines.delete(id);
        await driver.discard(id);
        deps.lives.forget(sprite_id);
      });
      waiters.end(id, new RemoraError('invalid_state', 'the machine was destroyed, the state can no longer come'));
    },
    async [Symbol.asyncDispose]() {
      for (const id of [...freezes.keys()]) callOff(id);
      waiters.end(undefined, new RemoraError('shutting_down', 'the platform is stopping', { retryAfter_ms: 1_000 }));
      for (const row of machines.listAwake()) stopping.add(row.id);
      await driver[Symbol.asyncDispose]();
    },
  };
}
