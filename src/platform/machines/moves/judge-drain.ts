// What a drain of its host does with a machine. Pure.
import type { MachineRow } from '../records/machine-row.ts';
import { toRestartPolicy } from '../records/machine-views.ts';

/** `stop and keep`: it runs again when the host is not drained any more. */
export type DrainStep = 'nothing' | 'discard' | 'stop' | 'stop and keep';

export function judgeDrain(row: Pick<MachineRow, 'state' | 'discarded' | 'config'>): DrainStep {
  const { state, discarded, config } = row;
  if (config.external === true) return 'nothing';
  switch (state) {
    case 'suspended':
      return discarded === null ? 'discard' : 'nothing';
    case 'running':
    case 'starting':
    case 'suspending':
      // Work that is done once, or by a schedule, is not begun a second time because of the host.
      return toRestartPolicy(config) === 'no' || typeof config.schedule === 'string' ? 'stop' : 'stop and keep';
    case 'created':
    case 'stopped':
    case 'failed':
    case 'destroyed':
      return 'nothing';
    default:
      return state satisfies never;
  }
}
