// What a host does for its machines every so often: it throws away snapshots that are too old, starts machines by their schedule, and where it
// is drained stops all of them.
import type { DiscardCause } from '../../../contract/machine-events.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { StorageFailure } from '../../storage/storage.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import { judgeDrain } from './judge-drain.ts';
import { isDue } from './judge-schedule.ts';
import type { MachineStarts } from './machine-starts.ts';
import type { MachineStops } from './machine-stops.ts';
import type { Restarts } from './pending-restarts.ts';

export interface UpkeepDeps {
  readonly host: string;
  readonly machines: Pick<MachineStore, 'listNotStopped' | 'listScheduled' | 'listSuspended' | 'listLeft'>;
  /** Reads whether the host is drained. */
  readonly readDrained: () => Promise<boolean>;
  /** How long a snapshot is kept; undefined: for ever. */
  readonly snapshotMaxAge_ms?: number | undefined;
  readonly discard: (id: string, cause: DiscardCause) => Promise<void>;
  readonly stops: Pick<MachineStops, 'stopForMaintenance' | 'endLeft'>;
  readonly starts: Pick<MachineStarts, 'start' | 'startAgain'>;
  readonly restarts: Pick<Restarts, 'isPending'>;
  /** Destroys a machine, if it is there. */
  readonly destroy: (id: string) => Promise<void>;
  readonly clock: Clock;
  readonly period_ms: number;
  readonly signal: AbortSignal;
  readonly log: Pick<Log, 'info' | 'error'>;
}

export interface Upkeep {
  /** Throws `host_drained` while the host is drained. */
  checkOpen(): void;
  /** Does what is due now. Resolves when it is done; never rejects. */
  look(): Promise<void>;
  /** Looks every so often until the signal is aborted. */
  start(): void;
}

const AT_ONCE = 4;

export function createUpkeep(deps: UpkeepDeps): Upkeep {
  const { host, machines, stops, starts, clock, signal, log } = deps;
  let isDrained = false;
  let running: Promise<void> | undefined;
  let finishing: Promise<void> | undefined;

  /** One that fails is logged, and tried again at the next look. */
  async function each(rows: readonly MachineRow[], step: (row: MachineRow) => Promise<unknown>): Promise<void> {
    const left = [...rows];
    const worker = async () => {
      for (let row = left.shift(); row !== undefined && !signal.aborted; row = left.shift()) {
        try {
          await step(row);
        } catch (err) {
          if (!signal.aborted) log.error({ err, machine: row.id }, 'the upkeep of a machine has failed');
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }

  async function drain(): Promise<void> {
    const own = (await machines.listNotStopped(host)).filter((row) => row.host === host);
    await each(own, async (row) => {
      const step = judgeDrain(row);
      if (step === 'discard') await deps.discard(row.id, 'maintenance');
      if (step === 'stop' || step === 'stop and keep') await stops.stopForMaintenance(row.id, step === 'stop and keep');
    });
  }

  /**
   * Machines run again that a drain has stopped, or whose restart failed between its stop and its start, and a stop, a destruction, or
   * the removal of a snapshot that failed is tried again.
   */
  async function finish(): Promise<void> {
    const left = await machines.listLeft(host);
    await each(left, async ({ id, wanted, config, state, discarded }) => {
      if (wanted === 'destroyed') await deps.destroy(id);
      else if (wanted === 'stopped') await (config.external === true ? undefined : stops.endLeft(id));
      else if (state === 'suspended' && discarded !== null) await deps.discard(id, discarded);
      else if (state === 'stopped' && !isDrained && !deps.restarts.isPending(id)) await starts.startAgain(id);
    });
  }

  /** Not a part of a look: a boot may take minutes, and a drain must not wait for it. */
  function finishMeanwhile(): void {
    if (finishing !== undefined) return;
    finishing = finish()
      .catch(tell)
      .finally(() => {
        finishing = undefined;
      });
  }

  function tell(err: unknown): void {
    if (!signal.aborted && !(err instanceof StorageFailure)) log.error({ err }, 'the upkeep of machines has failed');
  }

  async function keepUp(): Promise<void> {
    const now_ms = clock.wall_ms();
    if (deps.snapshotMaxAge_ms !== undefined) {
      const old = await machines.listSuspended(host, now_ms - deps.snapshotMaxAge_ms);
      await each(old, (row) => deps.discard(row.id, 'expired'));
    }
    const due = (await machines.listScheduled(host)).filter((row) => isDue(row, now_ms));
    await each(due, (row) => starts.start(row.id));
  }

  async function lookNow(): Promise<void> {
    try {
      const wasDrained = isDrained;
      isDrained = await deps.readDrained();
      if (isDrained !== wasDrained) log.info({ host, drained: isDrained }, 'the host was drained or opened again');
      finishMeanwhile();
      if (isDrained) return await drain();
      await keepUp();
    } catch (err) {
      tell(err);
    }
  }

  async function look(): Promise<void> {
    // A look that was asked for while one is under way sees what was changed before it.
    while (running !== undefined) await running;
    running = lookNow();
    await running.finally(() => {
      running = undefined;
    });
  }

  return {
    checkOpen() {
      if (!isDrained) return;
      const message = `the host ${host} is drained and starts no machine; \`remora host undrain\` opens it again`;
      throw new RemoraError('host_drained', message, { details: { host }, retryAfter_ms: 30_000 });
    },
    look,
    start() {
      void look();
      const timer = setInterval(() => void look(), deps.period_ms).unref();
      signal.addEventListener('abort', () => clearInterval(timer), { once: true });
    },
  };
}
