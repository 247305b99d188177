// Sprites that are warm for long become cold: their memory is thrown away, and their files stay.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { StorageFailure } from '../storage/storage.ts';
import type { IdleStore } from './idle-store.ts';
import type { Traffic } from './traffic.ts';

export interface WarmSpritesDeps {
  readonly cold_ms: number;
  readonly store: Pick<IdleStore, 'listWarm'>;
  readonly machineService: Pick<MachineService, 'sleeps'>;
  readonly traffic: Pick<Traffic, 'inFlight'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
}

export interface WarmSprites extends AsyncDisposable {
  start(): void;
}

const TICK_MAX_MS = 60_000;
const TICK_MIN_MS = 20;
/** How many in one turn. */
const PAGE = 50;

export function createWarmSprites(deps: WarmSpritesDeps): WarmSprites {
  const { cold_ms, store, machineService, traffic, clock, log } = deps;
  const begun = { wall_ms: clock.wall_ms(), mono_ms: clock.mono_ms() };
  const stop = new AbortController();
  let running: Promise<void> | undefined;

  /** A clock that is set forward makes nothing older: what this process has lived through is measured by its own clock too. */
  function isOld({ state_since }: MachineRow): boolean {
    const lived_ms = begun.wall_ms + (clock.mono_ms() - begun.mono_ms);
    return Math.min(clock.wall_ms(), lived_ms) - state_since >= cold_ms;
  }

  async function coolAll(): Promise<void> {
    for (const row of (await store.listWarm(clock.wall_ms() - cold_ms, PAGE)).filter(isOld)) {
      if (stop.signal.aborted) return;
      const isMeant = ({ id, state_since }: MachineRow) =>
        state_since === row.state_since && traffic.inFlight(id) === 0;
      const message = `it was warm for ${Math.floor(cold_ms / 1_000)} s`;
      try {
        await machineService.sleeps.cool(row.id, message, isMeant);
      } catch (err) {
        if (err instanceof StorageFailure) throw err;
        if (!stop.signal.aborted) log.error({ err, machine: row.id }, 'a warm sprite could not be stopped');
      }
    }
  }

  function tick(): void {
    if (running !== undefined) return;
    running = coolAll()
      .catch((err: unknown) => {
        if (!(err instanceof StorageFailure)) log.error({ err }, 'the warm sprites could not be looked at');
      })
      .finally(() => {
        running = undefined;
      });
  }

  return {
    start() {
      const timer = setInterval(tick, Math.min(TICK_MAX_MS, Math.max(TICK_MIN_MS, cold_ms / 20))).unref();
      stop.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
      tick();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
