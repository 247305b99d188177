// One platform process of the model: the moves of machines as they are, over a storage and a driver that die with it.

import { systemClock } from '../../../src/core/clock.ts';
import { randomHex } from '../../../src/core/urandom.ts';
import { createDrainStore } from '../../../src/platform/hosts/drain-store.ts';
import { createMachineService, type MachineService } from '../../../src/platform/machines/moves/machine-service.ts';
import { createMachineConfigStore } from '../../../src/platform/machines/records/machine-config-store.ts';
import { createMachineStore } from '../../../src/platform/machines/records/machine-store.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { silentLog } from '../silent-log.ts';
import { type CutGate, createCutGate } from './cut-gate.ts';
import { cutStorage } from './cut-storage.ts';
import type { Word } from './model-plan.ts';
import type { PlayedHost } from './played-host.ts';

export interface ModelPlatform {
  readonly gate: CutGate;
  readonly service: MachineService;
  /** Resolves when the call is answered. */
  ask(word: Word): Promise<unknown>;
}

export interface ModelPlatformOptions {
  readonly storage: Storage;
  readonly host: string;
  readonly id: string;
  readonly played: PlayedHost;
  readonly startDeadline_ms: number;
  readonly onMove: (state: string) => void;
  readonly onStep: (line: string) => void;
}

const UPKEEP_MS = 100;

export function createModelPlatform(options: ModelPlatformOptions): ModelPlatform {
  const { host, id, played } = options;
  const gate = createCutGate(options.onStep);
  const storage = cutStorage(options.storage, gate);
  const drains = createDrainStore(storage);
  const service: MachineService = createMachineService({
    storage,
    host,
    machines: createMachineStore(storage),
    onMove: async ({ state }) => options.onMove(state),
    onEvent: () => undefined,
    driver: played.open(gate, (machine) => service.reported(machine)),
    clock: systemClock,
    policyVariables: async () => ({}),
    readDrained: async () => (await drains.drainedSince(host)) !== undefined,
    upkeepPeriod_ms: UPKEEP_MS,
    freezeDelay_ms: 0,
    startDeadline_ms: options.startDeadline_ms,
    random: () => 0,
    log: silentLog,
  });

  async function update(): Promise<void> {
    const version = randomHex(13);
    const next = { config: { env: { VERSION: version } }, version, name: id, instance_id: randomHex(13) };
    await service.update(id, {
      expected: undefined,
      skipLaunch: false,
      check: async () => undefined,
      store: () => storage.transaction((sql) => createMachineConfigStore(sql).setVersion(id, next, Date.now())),
    });
  }

  async function setDrained(isDrained: boolean): Promise<void> {
    await (isDrained ? drains.drain(host, Date.now()) : drains.undrain(host));
    await service.upkeep();
  }

  /** `looks`: how often nothing speaks against it before something does. */
  function sleep(move: 'suspend' | 'stop', looks: number): Promise<unknown> {
    let looked = 0;
    const whyNot = () => {
      looked += 1;
      return looked > looks ? 'work has come' : undefined;
    };
    return service.sleeps.sleep(id, {
      move,
      message: 'idle',
      whyNot,
      onEnding: () => undefined,
      stop: { signal: 'SIGTERM', timeout_ms: 0 },
    });
  }

  const asks: Readonly<Record<Exclude<Word, 'wait'>, () => Promise<unknown>>> = {
    start: () => service.start(id),
    stop: async () => await (await service.stop(id, { signal: 'SIGTERM', timeout_ms: 0 })).ended,
    suspend: () => service.suspend(id),
    restart: () => service.restart(id),
    update,
    discard: () => service.discardSnapshot(id, 'expired'),
    destroy: () => service.destroy(id),
    crash: () => played.end(id, { exit_code: 7, signal: null }),
    end: () => played.end(id, { exit_code: 0, signal: null }),
    drain: () => setDrained(true),
    undrain: () => setDrained(false),
    sleep: () => sleep('suspend', Infinity),
    sleepByStop: () => sleep('stop', Infinity),
    sleepCalledOff: () => sleep('suspend', 1),
    cool: () => service.sleeps.cool(id, 'warm for long', () => true),
  };
  return { gate, service, ask: (word) => (word === 'wait' ? Promise.resolve() : asks[word]()) };
}
