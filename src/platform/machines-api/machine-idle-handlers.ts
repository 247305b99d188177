// GET of why a machine is awake, answered by the platform process that has the machine.
import { type MachineIdle, machineIdleOperations } from '../../contract/machine-idle.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { MachineAccess } from '../machines/access/machine-access.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { Principal } from '../tokens/principal.ts';

export interface IdleHandlerDeps {
  readonly access: Pick<MachineAccess, 'find' | 'pass'>;
  /** The id of this platform process. */
  readonly host: string;
  /** Takes a machine of this host, or of none. Undefined where the platform does not run. */
  readonly explainIdle: ((row: MachineRow) => Promise<MachineIdle>) | undefined;
}

export function createIdleHandlers(deps: IdleHandlerDeps): Handlers<typeof machineIdleOperations, Principal> {
  const { access, host, explainIdle } = deps;
  const operation = machineIdleOperations.readMachineIdle;
  return {
    async readMachineIdle(call) {
      const row = await access.find(call, operation);
      if (explainIdle === undefined) {
        throw new RemoraError(
          'invalid_state',
          'no platform serves this directory, and only one that does knows; start it',
        );
      }
      const passed = await access.pass(row.host, call, operation);
      if (passed !== undefined) return passed.value;
      if (row.host !== null && row.host !== host) {
        const message = 'another platform process runs this machine, and knows what keeps it awake; call that one';
        throw new RemoraError('other_host', message, { details: { host: row.host } });
      }
      return await explainIdle(row);
    },
  };
}
