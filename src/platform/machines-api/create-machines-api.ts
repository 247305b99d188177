// The operations of the machines API, wired.
import type { machineChangeOperations } from '../../contract/machine-changes.ts';
import type { machineIdleOperations } from '../../contract/machine-idle.ts';
import type { machineLeaseOperations } from '../../contract/machine-leases.ts';
import type { machineMetadataOperations } from '../../contract/machine-metadata.ts';
import type { machineOperations } from '../../contract/machines.ts';
import type { volumeOperations } from '../../contract/volumes.ts';
import type { Handlers } from '../../http/handler.ts';
import { type CallOwner, createMachineAccess } from '../machines/access/machine-access.ts';
import { createMachineRates, defaultMachineRates, type MachineRateOptions } from '../machines/access/machine-rates.ts';
import { createMachineHandlers, type MachineHandlerDeps } from '../machines/machine-handlers.ts';
import { createDestroyedMachines } from '../machines/records/destroyed-machines.ts';
import type { Principal } from '../tokens/principal.ts';
import { createMachineChangeHandlers, type MachineChangeDeps } from './machine-change-handlers.ts';
import { createIdleHandlers, type IdleHandlerDeps } from './machine-idle-handlers.ts';
import { createMachineLeaseHandlers } from './machine-lease-handlers.ts';
import { createMachineMetadataHandlers } from './machine-metadata-handlers.ts';
import { createVolumeHandlers, type VolumeHandlerDeps } from './volume-handlers.ts';

export interface MachinesApiDeps
  extends Omit<MachineHandlerDeps, 'access' | 'destroyed'>,
    Omit<MachineChangeDeps, 'access' | 'host' | 'machines'>,
    Pick<VolumeHandlerDeps, 'volumeService'>,
    Pick<IdleHandlerDeps, 'explainIdle'> {
  readonly rates?: MachineRateOptions | undefined;
  /** Undefined where there is one platform process only. */
  readonly callOwner: CallOwner | undefined;
}

type Rows = typeof machineOperations &
  typeof machineChangeOperations &
  typeof machineIdleOperations &
  typeof machineLeaseOperations &
  typeof machineMetadataOperations &
  typeof volumeOperations;

/** The id of a platform that does not run: it has no machine. */
const NOBODY = '';

export function createMachinesApi(given: MachinesApiDeps): Handlers<Rows, Principal> {
  const { machines, clock, callOwner, host = NOBODY } = given;
  const rates = createMachineRates(given.rates ?? defaultMachineRates, () => clock.mono_ms());
  const access = createMachineAccess({ machines, rates, host, callOwner, clock });
  const deps = { ...given, access };
  return {
    ...createMachineHandlers({ ...deps, destroyed: createDestroyedMachines(given.storage) }),
    ...createMachineChangeHandlers({ ...deps, host }),
    ...createIdleHandlers({ ...deps, host }),
    ...createMachineLeaseHandlers(deps),
    ...createMachineMetadataHandlers(deps),
    ...createVolumeHandlers(deps),
  };
}
