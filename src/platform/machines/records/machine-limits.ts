// How many sprites of an organization may be running or warm at once (Sandbox API, Limits). Checked in the transaction of the move,
// so that two callers cannot both take the last place.
import type { MachineStatus } from '../../../contract/machines.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { createOrganizationStore } from '../../organizations/organization-store.ts';
import type { Sql } from '../../storage/storage.ts';
import { createMachineStore, type MachineRow } from './machine-store.ts';

export interface MachineLimits {
  /** Throws `limit_reached` when one more machine may not run. One that counts as running already may. */
  checkRunning(row: MachineRow): Promise<void>;
  /** Throws `limit_reached` when one more machine may not be kept suspended. */
  checkWarm(row: MachineRow): Promise<void>;
}

/** A machine counts in the new state as soon as it begins to move there, and in the old one until it has arrived. */
const RUNNING: readonly MachineStatus[] = ['running', 'starting', 'suspending'];
const WARM: readonly MachineStatus[] = ['suspended', 'suspending'];

/** `sql` is that of the transaction. */
export function createMachineLimits(sql: Sql): MachineLimits {
  const machines = createMachineStore(sql);
  const organizations = createOrganizationStore(sql);
  return {
    async checkRunning({ organization_id, state }) {
      const limit = (await organizations.find(organization_id))?.running_limit ?? null;
      if (limit === null || RUNNING.includes(state)) return;
      const running = await machines.count(organization_id, RUNNING);
      if (running < limit) return;
      throw new RemoraError('limit_reached', `${running} sprites are running, and the organization may run ${limit}`, {
        details: { running_limit: limit, running },
      });
    },
    async checkWarm({ organization_id, state }) {
      const limit = (await organizations.find(organization_id))?.warm_limit ?? null;
      if (limit === null || WARM.includes(state)) return;
      const warm = await machines.count(organization_id, WARM);
      if (warm < limit) return;
      const message = `${warm} sprites are warm, and the organization may keep ${limit}; stop one, or this one`;
      throw new RemoraError('limit_reached', message, { details: { warm_limit: limit, warm } });
    },
  };
}
