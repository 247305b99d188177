// A driver whose machines are played by a test: it knows the state of each, and has the world of the test carry out what is done to it.
import type { Secret } from '../../../src/core/secret.ts';
import type { DriverState, InstanceEnd, MachineDriver } from '../../../src/platform/machines/drivers/machine-driver.ts';

export interface PlayedSpec {
  readonly id: string;
  readonly app: string;
  readonly sprite: string;
  readonly token: string;
}

/** What is done to a machine. A boot and a thaw resolve when the machine runs; its agent reports and connects later. */
export interface PlayedWorld {
  boot(spec: PlayedSpec): Promise<void>;
  thaw(id: string): Promise<void>;
  freeze(id: string): Promise<void>;
  end(id: string): Promise<void>;
}

export interface PlayedDriver extends MachineDriver {
  /** The instance ends by itself. */
  crash(id: string): Promise<void>;
}

const KILLED: InstanceEnd = { exit_code: null, signal: 'SIGKILL' };
const refuse = () => Promise.reject(new Error('played machines have no files'));

export function createPlayedDriver(
  createToken: (machine_id: string) => Promise<Secret>,
  world: PlayedWorld,
): PlayedDriver {
  const states = new Map<string, DriverState>();
  let onExit: (id: string, end: InstanceEnd) => Promise<void> = async () => undefined;

  const stateOf = (id: string) => states.get(id) ?? 'stopped';

  async function end(id: string): Promise<void> {
    if (stateOf(id) === 'stopped') return;
    states.set(id, 'stopped');
    await world.end(id);
    await onExit(id, KILLED);
  }

  return {
    crash: end,
    findInstances: async () => [],
    async start({ id, app, sprite }) {
      if (stateOf(id) !== 'stopped') throw new Error(`a machine that is ${stateOf(id)} was booted`);
      const token = (await createToken(id)).reveal();
      states.set(id, 'running');
      await world.boot({ id, app, sprite, token });
    },
    async suspend(id) {
      await world.freeze(id);
      states.set(id, 'suspended');
    },
    async resume({ id }) {
      if (stateOf(id) !== 'suspended') return { outcome: 'discarded', cause: 'lost' };
      await world.thaw(id);
      states.set(id, 'running');
      return { outcome: 'resumed' };
    },
    dropSnapshot: (id) => (stateOf(id) === 'suspended' ? end(id) : Promise.resolve()),
    stop: (id) => end(id),
    async discard(id) {
      states.delete(id);
    },
    state: stateOf,
    capacity: async () => ({ total_mb: null, resident_mb: 0 }),
    checkConfig: () => undefined,
    signal: async () => undefined,
    lastLines: () => ['the last line of its log'],
    onExit(listener) {
      onExit = listener;
    },
    checkpoints: {
      list: async () => [],
      current: async () => undefined,
      make: refuse,
      prepareRestore: refuse,
      remove: refuse,
    },
    volumes: { make: refuse, extend: refuse, remove: refuse },
    [Symbol.asyncDispose]: async () => undefined,
  };
}
