// Records, among the events of a machine, that nothing in it is reached because a policy of its sprite does not hold in it.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { RemoraError } from '../../core/remora-error.ts';
import type { Changes } from '../changes.ts';
import type { Storage } from '../storage/storage.ts';
import { createMachineHistory } from './records/machine-history.ts';
import { createMachineStore } from './records/machine-store.ts';

export interface RefusalRecorderDeps {
  readonly storage: Storage;
  readonly changes: Pick<Changes, 'publish'>;
  readonly clock: Pick<Clock, 'wall_ms'>;
  readonly log: Pick<Log, 'warn'>;
}

/** The texts of an agent are no longer than this in an event. */
const MESSAGE_CHARS = 1_024;

/** Never throws: what cannot be recorded is in the log. */
export function createRefusalRecorder({ storage, changes, clock, log }: RefusalRecorderDeps) {
  async function record(machine_id: string, message: string): Promise<void> {
    await storage.transaction(async (sql) => {
      const row = await createMachineStore(sql).find(machine_id);
      if (row === undefined) return;
      const { state: status, instance_id } = row;
      const shared = { type: 'policy_refused', source: 'platform', timestamp: clock.wall_ms() } as const;
      await createMachineHistory(sql).add(machine_id, { ...shared, status, instance_id, message });
    });
    changes.publish({ type: 'machine_event', machine_id });
  }

  return (machine_id: string, { message }: RemoraError): void => {
    record(machine_id, message.slice(0, MESSAGE_CHARS)).catch((err: unknown) => {
      log.warn({ err, machine: machine_id }, 'the event of a machine could not be recorded');
    });
  };
}
