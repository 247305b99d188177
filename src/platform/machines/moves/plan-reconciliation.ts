// Decides what a starting platform does with one machine, from the record of the last platform process and from what the driver found.
// The state is that of what was found; a move that was begun is finished once. Pure.
import type { RestartPolicy } from '../../../contract/machine-config.ts';
import type { MachineStatus } from '../../../contract/machines.ts';
import type { FoundInstance } from '../drivers/machine-driver.ts';
import { judgeRestart } from '../records/judge-restart.ts';
import type { WantedState } from '../records/machine-store.ts';

export interface RecordedMachine {
  readonly state: MachineStatus;
  readonly wanted: WantedState;
  readonly policy: RestartPolicy;
}

export interface ReconciliationPlan {
  /** The state to record before anything is served. */
  readonly state: MachineStatus;
  /** The recorded instance has ended, and no platform saw how. */
  readonly isOver: boolean;
  /** What is left to do once the platform listens. `follow`: wait for the first report of its agent. */
  readonly next: 'nothing' | 'end' | 'thaw' | 'follow' | 'boot';
}

/** `found` is undefined when the recorded instance never began. */
export function planReconciliation(
  recorded: RecordedMachine,
  found: FoundInstance['state'] | undefined,
): ReconciliationPlan {
  switch (found) {
    case 'running':
      return planRunning(recorded);
    case 'suspended':
      return planSuspended(recorded);
    case 'over':
    case 'lost':
    case undefined:
      return {
        state: 'stopped',
        isOver: recorded.state !== 'stopped',
        next: mayBoot(recorded, found) ? 'boot' : 'nothing',
      };
    default:
      return found satisfies never;
  }
}

function planRunning({ state, wanted }: RecordedMachine): ReconciliationPlan {
  if (wanted === 'stopped') return { state, isOver: false, next: 'end' };
  if (state === 'starting') return { state, isOver: false, next: 'follow' };
  // An unfinished freeze may have stopped some of its processes.
  const next = state === 'suspending' || state === 'suspended' ? 'thaw' : 'nothing';
  return { state: 'running', isOver: false, next };
}

function planSuspended({ state, wanted }: RecordedMachine): ReconciliationPlan {
  if (wanted === 'stopped') return { state, isOver: false, next: 'end' };
  if (state === 'starting') return { state, isOver: false, next: 'thaw' };
  return { state: 'suspended', isOver: false, next: 'nothing' };
}

/** A machine that ended with its host (`lost`) runs again whatever its restart policy says: it did not end by itself. */
function mayBoot({ state, wanted, policy }: RecordedMachine, found: 'over' | 'lost' | undefined): boolean {
  if (wanted === 'stopped') return false;
  switch (state) {
    case 'stopped':
      return true;
    case 'suspended':
    case 'suspending':
      return false;
    case 'starting':
      return found !== 'over' || judgeRestart(policy, { exit_code: null });
    case 'running':
      return found === 'lost' || judgeRestart(policy, { exit_code: null });
    default:
      return state satisfies never;
  }
}
