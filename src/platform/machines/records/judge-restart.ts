// What follows the end of a machine that was not asked for. Pure.
import type { MachineConfig, RestartPolicy } from '../../../contract/machine-config.ts';
import type { MachineExit } from '../../../contract/machines.ts';

export const DEFAULT_RESTART: RestartPolicy = 'on-failure';
/** The retries of the policy `on-failure`; under `always` a machine is started again for ever. */
const DEFAULT_RETRIES = 10;
/** A machine that ran this long counts as healthy: it is as if it had never been started again. */
export const HEALTHY_AFTER_MS = 60_000;

/** `give_up`: the policy would start it once more, and it was started again as often as it may be. */
export type ExitVerdict = 'restart' | 'leave' | 'give_up';

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

export interface EndedInstance {
  readonly exit: Pick<MachineExit, 'exit_code'>;
  /** How often it was started again in a row before this end. */
  readonly restarts: number;
  readonly ran_ms: number;
}

export function judgeExit(config: Pick<MachineConfig, 'restart'>, ended: EndedInstance): ExitVerdict {
  const { policy = DEFAULT_RESTART, max_retries = policy === 'on-failure' ? DEFAULT_RETRIES : Infinity } =
    config.restart ?? {};
  if (!judgeRestart(policy, ended.exit)) return 'leave';
  return countRestarts(ended) < max_retries ? 'restart' : 'give_up';
}

/** The restarts in a row that still count. */
export function countRestarts({ restarts, ran_ms }: Pick<EndedInstance, 'restarts' | 'ran_ms'>): number {
  return ran_ms >= HEALTHY_AFTER_MS ? 0 : restarts;
}
