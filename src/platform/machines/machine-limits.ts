// How many sprites of an organization may be running or warm at once (document 1, "Limits"). Asked in the same step as the move
// that it allows, so that two callers cannot take the last place.
import type { MachineStatus } from '../../contract/machines.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { OrganizationStore } from '../organizations/organization-store.ts';
import type { MachineRow, MachineStore } from './machine-store.ts';

export interface MachineLimits {
  /** Throws `limit_reached` when one more machine may not run. One that counts as running already may. */
  checkRunning(row: MachineRow): void;
  /** Throws `limit_reached` when one more machine may not be kept suspended. */
  checkWarm(row: MachineRow): void;
}

/** A machine takes its place as soon as it begins to move there, and leaves the other one when it has arrived. */
const RUNNING: readonly MachineStatus[] = ['running', 'starting', 'suspending'];
const WARM: readonly MachineStatus[] = ['suspended', 'suspending'];

export function createMachineLimits(machines: MachineStore, organizations: OrganizationStore): MachineLimits {
  return {
    checkRunning({ organization_id, state }) {
      const limit = organizations.find(organization_id)?.running_limit ?? null;
      if (limit === null || RUNNING.includes(state)) return;
      const running = machines.count(organization_id, RUNNING);
      if (running < limit) return;
      throw new RemoraError('limit_reached', `${running} sprites are running, and the organization may run ${limit}`, {
        details: { running_limit: limit, running },
      });
    },
    checkWarm({ organization_id, state }) {
      const limit = organizations.find(organization_id)?.warm_limit ?? null;
      if (limit === null || WARM.includes(state)) return;
      const warm = machines.count(organization_id, WARM);
      if (warm < limit) return;
      const message = `${warm} sprites are warm, and the organization may keep ${limit}; stop one, or this one`;
      throw new RemoraError('limit_reached', message, { details: { warm_limit: limit, warm } });
    },
  };
}
