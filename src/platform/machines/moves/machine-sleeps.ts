// Sleeps that nobody asked for: the platform has decided them for machines without work, and for sprites that were warm for long. What
// speaks against one is asked again when it is recorded that it begins, so that nothing that comes in the same moment is cut off.
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import type { StopOptions } from '../drivers/machine-driver.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import type { MachineRecords } from './machine-records.ts';
import type { MachineStops } from './machine-stops.ts';
import type { MachineSuspends } from './machine-suspends.ts';
import type { SnapshotUses } from './snapshot-uses.ts';

export interface SleepDecision {
  readonly move: 'suspend' | 'stop';
  /** Why, for the events of the machine. */
  readonly message: string;
  /** What stands against it at this moment; undefined when nothing does. */
  readonly whyNot: (row: MachineRow) => string | undefined;
  /** Runs before the last look at what stands against a stop: whatever comes later has to wait for the next start. */
  readonly onEnding: (row: MachineRow) => void;
  /** How the machine is ended by a stop. */
  readonly stop: StopOptions;
}

/** Both throw `not_found`, `other_host` and `external_machine`. */
export interface MachineSleeps {
  /**
   * Suspends or stops a running machine, and resolves when that is over: undefined when it sleeps, else why it does not. A start that is
   * asked for meanwhile comes after it. Throws `concurrent_sprite_limit_exceeded` where no more may be warm.
   */
  sleep(id: string, decision: SleepDecision): Promise<string | undefined>;
  /** Stops a suspended machine; its files stay. Does nothing for one in another state, and for one that `isMeant` is false of. */
  cool(id: string, message: string, isMeant: (row: MachineRow) => boolean): Promise<void>;
}

export interface SleepsDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly records: Pick<MachineRecords, 'movableRow' | 'move' | 'want'>;
  readonly suspends: Pick<MachineSuspends, 'freezeNow'>;
  readonly stops: Pick<MachineStops, 'endNow'>;
  readonly snapshots: Pick<SnapshotUses, 'drop'>;
  readonly mutex: KeyedMutex;
}

const GONE = 'the machine is gone';

export function createSleeps({ machines, records, suspends, stops, snapshots, mutex }: SleepsDeps): MachineSleeps {
  async function suspendNow({ id }: MachineRow, { message, whyNot }: SleepDecision): Promise<string | undefined> {
    const begun = await records.move(id, 'suspend', { place: 'checkWarm', source: 'platform', message });
    if (begun === undefined) return 'the machine may not be suspended';
    const row = await machines.find(id);
    const why = row === undefined ? GONE : whyNot(row);
    if (why !== undefined) {
      await records.move(id, 'start', { source: 'platform', message: why });
      return why;
    }
    await suspends.freezeNow(id);
    const after = await machines.find(id);
    return after?.state === 'suspended' ? undefined : `it could not be suspended, and is ${after?.state ?? 'gone'}`;
  }

  async function stopNow(
    before: MachineRow,
    { message, whyNot, onEnding, stop }: SleepDecision,
  ): Promise<string | undefined> {
    const { id } = before;
    await records.want(before, 'stopped');
    const row = await machines.find(id);
    onEnding(before);
    const why = row === undefined ? GONE : whyNot(row);
    if (why !== undefined) {
      await records.want(before, 'running');
      return why;
    }
    await records.want(before, 'stopped', { type: 'stop', source: 'platform', message });
    await stops.endNow(id, 'stopped', stop);
    return undefined;
  }

  return {
    sleep: (id, decision) =>
      mutex.run(id, async () => {
        const row = await records.movableRow(id);
        if (row.state !== 'running' || row.wanted !== 'running') return `the machine is ${row.state}`;
        const why = decision.whyNot(row);
        if (why !== undefined) return why;
        return await (decision.move === 'suspend' ? suspendNow(row, decision) : stopNow(row, decision));
      }),
    cool: (id, message, isMeant) =>
      mutex.run(id, async () => {
        const row = await records.movableRow(id);
        if (row.state !== 'suspended' || !isMeant(row)) return;
        await records.want(row, 'stopped', { type: 'stop', source: 'platform', message });
        await snapshots.drop(row, row.discarded ?? 'expired');
        await stops.endNow(id, 'stopped');
      }),
  };
}
