// Makes records and machines agree after the platform process before this one has ended: finds its machines, corrects their records,
// and finishes moves that were begun.
import { toDateTime } from '../../../core/clock.ts';
import type { FoundInstance, MachineDriver, StopOptions } from '../drivers/machine-driver.ts';
import type { MachineRow, WantedState } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import { toRestartPolicy } from '../records/machine-views.ts';
import { planReconciliation, type ReconciliationPlan } from './machine-intents.ts';
import type { MachineRecords } from './machine-records.ts';

export interface ReconciliationOptions {
  readonly host: string;
  readonly machines: Pick<MachineStore, 'listNotStopped'>;
  readonly driver: Pick<MachineDriver, 'findInstances' | 'state' | 'stop'>;
  readonly records: Pick<MachineRecords, 'correct' | 'end'>;
}

/** The functions that do each step that may be left. */
export interface CarryOn {
  readonly thaw: (id: string) => Promise<void>;
  readonly end: (id: string) => Promise<void>;
  readonly follow: (id: string, instance_id: string) => void;
  readonly boot: (id: string) => Promise<void>;
  readonly destroy: (id: string) => Promise<void>;
  /** Throws away a snapshot that the record says is gone. */
  readonly drop: (id: string) => Promise<void>;
}

export interface Reconciliation {
  /** Ends machines without a record, and records what was found of the others. */
  reconcile(): Promise<void>;
  /** Does the steps that are left. Boots a few machines at a time: after a restart of the host all of them are to run. */
  carryOn(steps: CarryOn): Promise<void>;
}

const STRAY: StopOptions = { signal: 'SIGKILL', timeout_ms: 0 };
const BOOTS_AT_ONCE = 4;

export function createReconciliation({ host, machines, driver, records }: ReconciliationOptions): Reconciliation {
  const left: { readonly row: MachineRow; readonly next: ReconciliationPlan['next'] | 'drop' }[] = [];

  /** The state of the instance that the record names. Another instance of the same machine is ended. */
  async function toFound(
    row: MachineRow,
    found: FoundInstance | undefined,
  ): Promise<FoundInstance['state'] | undefined> {
    if (found === undefined || found.instance_id === row.instance_id) return found?.state;
    await driver.stop(row.id, STRAY);
    return undefined;
  }

  async function settle(row: MachineRow, found: FoundInstance | undefined): Promise<void> {
    const { state, wanted, config } = row;
    const recorded = { state, wanted, policy: toRestartPolicy(config) };
    const there = (await toFound(row, found)) ?? 'none';
    const plan = planReconciliation(recorded, there);
    // The end of a snapshot that was thrown away is recorded already.
    const isKnown = row.state === 'suspended' && row.discarded !== null && plan.state === 'suspended';
    if (isKnown && there === 'suspended') left.push({ row, next: 'drop' });
    if (plan.isOver && !isKnown) {
      const exit = { exit_code: null, signal: null, requested: wanted === 'stopped', at: toDateTime(Date.now()) };
      await records.end(row.id, exit, () => ({ wanted: toWanted(row, plan), isGivenUp: false }));
    } else await records.correct(row, plan.state);
    if (plan.next !== 'nothing') left.push({ row, next: plan.next });
  }

  return {
    async reconcile() {
      const instances = new Map((await driver.findInstances()).map((found) => [found.id, found]));
      for (const row of await machines.listNotStopped(host)) {
        if (row.config.external === true) continue;
        await settle(row, instances.get(row.id));
        instances.delete(row.id);
      }
      await Promise.all([...instances.keys()].map((id) => driver.stop(id, STRAY)));
    },
    async carryOn(steps) {
      const boots: string[] = [];
      for (const { row, next } of left.splice(0)) {
        if (next === 'boot') boots.push(row.id);
        if (next === 'follow') steps.follow(row.id, row.instance_id);
        if (next === 'thaw') await steps.thaw(row.id);
        if (next === 'drop') await steps.drop(row.id);
        if (next === 'end') await steps.end(row.id);
        if (next === 'destroy') await steps.destroy(row.id);
      }
      const worker = async () => {
        for (let id = boots.shift(); id !== undefined; id = boots.shift()) await steps.boot(id);
      };
      await Promise.all(Array.from({ length: BOOTS_AT_ONCE }, worker));
    },
  };
}

function toWanted(row: MachineRow, plan: ReconciliationPlan): WantedState {
  if (plan.next === 'boot') return 'running';
  return row.wanted === 'destroyed' || plan.state === 'suspended' ? row.wanted : 'stopped';
}
