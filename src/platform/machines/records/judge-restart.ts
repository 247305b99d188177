// Whether a machine that ended without a request is started again. Pure.
import type { RestartPolicy } from '../../../contract/machine-config.ts';
import type { MachineExit } from '../../../contract/machines.ts';

export const DEFAULT_RESTART: RestartPolicy = 'on-failure';

/** An end without an exit code, which the platform did not see, counts as a failure. */
export function judgeRestart(policy: RestartPolicy, exit: Pick<MachineExit, 'exit_code'>): boolean {
  switch (policy) {
    case 'always':
      return true;
    case 'on-failure':
      return exit.exit_code !== 0;
    case 'no':
      return false;
    default:
      return policy satisfies never;
  }
}
