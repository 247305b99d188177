// The operation that lists the usage of machines and volumes.
import { machineStates } from '../../contract/machine-events.ts';
import type { machineUsageOperations } from '../../contract/machine-usage.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Sql } from '../storage/storage.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import { DAY_MS } from './usage-days.ts';
import { createUsageLedger } from './usage-ledger.ts';

const DEFAULT_DAYS = 30;

export function createMachineUsageHandlers(
  storage: Sql,
  clock: Clock,
): Handlers<typeof machineUsageOperations, Principal> {
  const ledger = createUsageLedger(storage);
  return {
    async readMachineUsage({ principal, query }) {
      const now_ms = clock.wall_ms();
      const { since = toDay(now_ms - (DEFAULT_DAYS - 1) * DAY_MS), until = toDay(now_ms) } = query;
      const asked = { organization_id: organizationOf(principal).id, since, until, now_ms };
      const machines = await ledger.listMachines(asked);
      const volumes = await ledger.listVolumes(asked);
      return {
        // A state that cannot be read counts as `stopped`, as everywhere.
        machines: machines.map(({ day, app, state, ms }) => ({
          day,
          app,
          state: machineStates.find((known) => known === state) ?? 'stopped',
          seconds: ms / 1_000,
        })),
        volumes: volumes.map(({ day, app, gb_ms }) => ({ day, app, gb_seconds: gb_ms / 1_000 })),
      };
    },
  };
}

function toDay(time_ms: number): string {
  return toDateTime(time_ms).slice(0, 10);
}
