// Wires what puts machines without work to sleep, and what lets starts wait for a place.
import type { Clock } from '../core/clock.ts';
import type { Changes } from './changes.ts';
import type { Channels } from './channels/channels.ts';
import { createAppRounds } from './idle/app-rounds.ts';
import { createAskAgent } from './idle/ask-agent.ts';
import { createExplainIdle, type ExplainIdle } from './idle/explain-idle.ts';
import { NEVER_IDLE } from './idle/idle-settings.ts';
import { createIdleStore } from './idle/idle-store.ts';
import { createMakeRoom } from './idle/make-room.ts';
import { createSleeper, type Sleeper } from './idle/put-to-sleep.ts';
import { createRefusals } from './idle/refusals.ts';
import { createSpriteCycle } from './idle/sprite-cycle.ts';
import { createStartQueue, type StartQueue } from './idle/start-queue.ts';
import { createTraffic } from './idle/traffic.ts';
import { withWarmPlaces } from './idle/warm-places.ts';
import { createWarmSprites } from './idle/warm-sprites.ts';
import type { MachineService } from './machines/moves/machine-service.ts';
import { createMachineLimits } from './machines/records/machine-limits.ts';
import type { Stores } from './open-stores.ts';
import type { PlatformOptions } from './platform-options.ts';
import { createMachineTraffic, type MachineTraffic } from './proxy/machine-traffic.ts';

export interface IdleParts extends AsyncDisposable {
  /** Begins to look for machines without work. Call it when the platform listens. */
  start(): void;
  readonly explainIdle: ExplainIdle;
  readonly startQueue: StartQueue;
  /** What the proxy carries. */
  readonly traffic: MachineTraffic;
  /** Calls that are on their way to the agent of a machine. */
  readonly arriving: Pick<MachineTraffic, 'begin'> & Pick<Sleeper, 'isFallingAsleep'>;
}

export interface OpenIdleDeps {
  readonly options: Pick<PlatformOptions, 'idle' | 'log'>;
  readonly stores: Pick<Stores, 'storage' | 'host' | 'machines'>;
  readonly machineService: Pick<MachineService, 'sleeps' | 'start'>;
  readonly channels: Pick<Channels, 'find' | 'whyRefused'>;
  readonly changes: Changes;
  readonly clock: Clock;
}

export function openIdle({ options, stores, machineService, channels, changes, clock }: OpenIdleDeps): IdleParts {
  const settings = { ...NEVER_IDLE, ...options.idle };
  const { sprite_ms, cold_ms, round_ms, startWait_ms: wait_ms } = settings;
  const { log } = options;
  const { storage, host, machines } = stores;
  const now_ms = () => clock.mono_ms();
  const proxied = createMachineTraffic(now_ms);
  const arriving = createMachineTraffic(now_ms);
  const traffic = createTraffic({ proxied, arriving, now_ms });
  const store = createIdleStore(storage, host);
  const askAgent = createAskAgent(channels);
  const refusals = createRefusals(clock);
  const closing = new AbortController();
  const { signal } = closing;
  const sleeper = createSleeper({ channels, machineService, inFlight: traffic.inFlight, changes, clock, signal });
  const putToSleep = withWarmPlaces({
    store,
    machineService,
    putToSleep: sleeper.putToSleep,
    inFlight: traffic.inFlight,
    isAwaited: (id) => startQueue.isAwaited(id),
  });
  const common = { settings, host, machines, store, machineService, traffic, askAgent, putToSleep, refusals };
  const all = { ...common, changes, clock, log };
  const makeRoom = createMakeRoom(all);
  const limits = createMachineLimits(storage);
  const startQueue = createStartQueue({ ...all, limits, makeRoom, wait_ms });
  const loops = [
    ...(sprite_ms === undefined ? [] : [createSpriteCycle({ ...all, settings: { ...settings, sprite_ms } })]),
    ...(cold_ms === undefined ? [] : [createWarmSprites({ ...all, cold_ms })]),
    ...(round_ms === undefined ? [] : [createAppRounds({ ...all, settings: { ...settings, round_ms } })]),
  ];
  return {
    start() {
      for (const loop of loops) loop.start();
    },
    explainIdle: createExplainIdle(all),
    startQueue,
    traffic: proxied,
    arriving: { begin: arriving.begin, isFallingAsleep: sleeper.isFallingAsleep },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the platform is stopping'));
      await Promise.all([startQueue, ...loops].map((part) => part[Symbol.asyncDispose]()));
    },
  };
}
