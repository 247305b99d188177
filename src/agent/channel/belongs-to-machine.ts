// Which processes belong to this machine, where a machine is not alone on its kernel.
import { readVariable } from '../../linux/processes/process-table.ts';

/** Set by what boots the machine, and inherited by everything in it: the id of the instance. */
const INSTANCE_VARIABLE = 'FLY_MACHINE_VERSION';

/** Every process of a machine with a kernel of its own belongs to it. With an instance variable only those count that carry the same one. */
export function createBelongsToMachine(env: NodeJS.ProcessEnv): (pid: number) => boolean {
  const instance = env[INSTANCE_VARIABLE];
  if (instance === undefined) return () => true;
  return (pid) => pid > 0 && readVariable(pid, INSTANCE_VARIABLE) === instance;
}
