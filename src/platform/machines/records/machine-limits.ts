// How many sprites of an organization may be running or warm at once (Sandbox API, Limits). Checked in the transaction of the move,
// so that two callers cannot both take the last place.
import type { MachineStatus } from '../../../contract/machines.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { createOrganizationStore } from '../../organizations/organization-store.ts';
import type { Sql } from '../../storage/storage.ts';
import type { MachineRow } from './machine-row.ts';
import { createMachineStore } from './machine-store.ts';

export interface MachineLimits {
  /** Throws `concurrent_sprite_limit_exceeded` when one more machine may not run. One that counts as running already may. */
  checkRunning(row: MachineRow): Promise<void>;
  /** How many more machines of the organization may run now, below 0 when too many do; Infinity without a limit. */
  freePlaces(organization_id: string): Promise<number>;
  /** Throws `concurrent_sprite_limit_exceeded` when one more machine may not be kept suspended. */
  checkWarm(row: MachineRow): Promise<void>;
}

/**
 * A machine counts in the new state as soon as it begins to move there, and in the old one until it has arrived. One that has ended and is
 * to be booted again keeps its place.
 */
const RUNNING: readonly MachineStatus[] = ['running', 'starting', 'suspending'];
const WARM: readonly MachineStatus[] = ['suspended', 'suspending'];

/** Nobody knows when a place will be free: often enough to take it soon, and rarely enough to cost nothing. */
const RETRY_MS = 30_000;

/** Whether the machine counts as running, so that its start takes no place. */
export function holdsPlace({ state, wanted }: Pick<MachineRow, 'state' | 'wanted'>): boolean {
  return RUNNING.includes(state) || (state === 'stopped' && wanted === 'running');
}

/** `sql` is that of the transaction where something is checked. */
export function createMachineLimits(sql: Sql): MachineLimits {
  const machines = createMachineStore(sql);
  const organizations = createOrganizationStore(sql);
  return {
    async checkRunning(row) {
      const { organization_id } = row;
      const limit = (await organizations.find(organization_id))?.running_limit ?? null;
      if (limit === null || holdsPlace(row)) return;
      const running = await machines.countRunning(organization_id, RUNNING);
      if (running < limit) return;
      const message = `${running} sprites run or are about to, and the organization may run ${limit}; stop one, or wait`;
      throw exceeded(message, { limit, current_count: running }, { running_limit: limit, running });
    },
    async freePlaces(organization_id) {
      const limit = (await organizations.find(organization_id))?.running_limit ?? Infinity;
      return limit === Infinity ? limit : limit - (await machines.countRunning(organization_id, RUNNING));
    },
    async checkWarm({ organization_id, state }) {
      const limit = (await organizations.find(organization_id))?.warm_limit ?? null;
      if (limit === null || WARM.includes(state)) return;
      const warm = await machines.count(organization_id, WARM);
      if (warm < limit) return;
      const message = `${warm} sprites are warm, and the organization may keep ${limit}; stop one, or this one`;
      throw exceeded(message, { limit, current_count: warm }, { warm_limit: limit, warm });
    },
  };
}

interface Counted {
  readonly limit: number;
  readonly current_count: number;
}

function exceeded(message: string, counted: Counted, details: Readonly<Record<string, number>>): RemoraError {
  return new RemoraError('concurrent_sprite_limit_exceeded', message, {
    details,
    fields: { ...counted, retry_after_seconds: RETRY_MS / 1_000 },
    retryAfter_ms: RETRY_MS,
  });
}
