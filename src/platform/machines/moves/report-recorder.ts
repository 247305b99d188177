// Records the first report of an agent: the machine that was starting runs, and so does one that is run outside the platform.
import type { Clock } from '../../../core/clock.ts';
import type { MachineStore } from '../records/machine-store.ts';
import type { OnMove } from './machine-move.ts';
import type { PendingStarts } from './pending-starts.ts';
import type { Waiters } from './state-waiters.ts';

export interface ReportRecorderDeps {
  readonly machines: Pick<MachineStore, 'find' | 'move'>;
  readonly pendingStarts: Pick<PendingStarts, 'reported'>;
  readonly waiters: Pick<Waiters, 'settle'>;
  readonly onMove: OnMove;
  readonly clock: Clock;
}

/** Returns the function to call after each report of an agent to this platform process. It does nothing for a machine that runs already. */
export function createReportRecorder(deps: ReportRecorderDeps): (id: string) => Promise<void> {
  const { machines, clock } = deps;
  return async (id) => {
    const row = await machines.find(id);
    const isAwaited = row?.state === 'starting' || (row?.config.external === true && row.state === 'stopped');
    if (row === undefined || !isAwaited) return;
    if (!(await machines.move(id, row.state, 'running', clock.wall_ms()))) return;
    deps.pendingStarts.reported(id, row.instance_id);
    await deps.onMove({ sprite_id: row.sprite_id, state: 'running', at_ms: clock.wall_ms() });
    deps.waiters.settle(id, { state: 'running', instance_id: row.instance_id });
  };
}
