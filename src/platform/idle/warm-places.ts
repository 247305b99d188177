// Room among the warm sprites of an organization: where as many are warm as may be, the one that has been warm for longest becomes cold, so
// that one without work can be suspended.
import type { MachineService } from '../machines/moves/machine-service.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { IdleStore } from './idle-store.ts';
import { isWarmLimit, type PutToSleep } from './put-to-sleep.ts';

export interface WarmPlacesDeps {
  readonly store: Pick<IdleStore, 'listWarmOf'>;
  readonly machineService: Pick<MachineService, 'sleeps'>;
  readonly putToSleep: PutToSleep;
  /** Requests, tunnels and calls on their way to a machine. */
  readonly inFlight: (machine_id: string) => number;
  /** Whether somebody waits for the start of the machine. */
  readonly isAwaited: (machine_id: string) => boolean;
}

const LOOKED_AT = 16;

/** Does what `PutToSleep` does, and makes room where it is needed. */
export function withWarmPlaces(deps: WarmPlacesDeps): PutToSleep {
  const isWanted = ({ id }: MachineRow) => deps.inFlight(id) > 0 || deps.isAwaited(id);

  async function coolOldest(organization_id: string): Promise<void> {
    const warm = await deps.store.listWarmOf(organization_id, LOOKED_AT);
    const oldest = warm.find((row) => !isWanted(row));
    if (oldest === undefined) return;
    const message = 'as many sprites of the organization are warm as may be, and this one has been for longest';
    await deps.machineService.sleeps.cool(oldest.id, message, (row) => !isWanted(row));
  }

  return async (row, sleep) => {
    try {
      return await deps.putToSleep(row, sleep);
    } catch (error) {
      if (!isWarmLimit(error)) throw error;
      await coolOldest(row.organization_id);
      return await deps.putToSleep(row, sleep);
    }
  };
}
