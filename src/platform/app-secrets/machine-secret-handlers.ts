// Hands the secrets of an app to its machines.
import type { machineSecretOperations } from '../../contract/app-secrets.ts';
import type { Handlers } from '../../http/handler.ts';
import { findServedMachine, type ServedMachineDeps } from '../machines/access/served-machine.ts';
import type { Principal } from '../tokens/principal.ts';
import type { AppSecrets } from './app-secrets.ts';

export interface MachineSecretDeps extends ServedMachineDeps {
  readonly secrets: Pick<AppSecrets, 'open'>;
}

export function createMachineSecretHandlers(
  deps: MachineSecretDeps,
): Handlers<typeof machineSecretOperations, Principal> {
  return {
    async readMachineSecrets({ principal, params, request }) {
      const { machine } = await findServedMachine(principal, params, request.headers, deps);
      const values = await deps.secrets.open(machine.app);
      return { secrets: [...values].map(([name, value]) => ({ name, value: value.reveal() })) };
    },
  };
}
