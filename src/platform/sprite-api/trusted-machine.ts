// Finds the machine of a sprite by its name, if what is inside may be reached.
import { RemoraError } from '../../core/remora-error.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Principal } from '../tokens/principal.ts';

export interface TrustedMachineDeps {
  readonly sprites: Pick<SpriteService, 'findFor'>;
  readonly machines: Pick<MachineStore, 'findBySprite'>;
  /** Machines of the driver `process` may be reached into, although they share kernel and files with the platform. */
  readonly trustMachines: boolean;
}

/** Throws `not_found` and `not_isolated`. A machine that is run elsewhere shares nothing with the platform. */
export async function findTrustedMachine(
  deps: TrustedMachineDeps,
  principal: Principal,
  name: string,
): Promise<MachineRow> {
  const sprite = await deps.sprites.findFor(principal, name);
  const machine = await deps.machines.findBySprite(sprite.id);
  if (machine === undefined) throw new RemoraError('not_found', 'there is no such sprite');
  if (machine.config.external !== true && !deps.trustMachines) throw notIsolated(machine);
  return machine;
}

function notIsolated({ config }: MachineRow): RemoraError {
  const driver = config.driver ?? 'process';
  const message =
    `a machine of the driver ${driver} shares kernel and files with the platform; ` +
    'start the platform with --trust-machines to reach into it all the same';
  return new RemoraError('not_isolated', message);
}
