// Whose machine a path names.
import { RemoraError } from '../../core/remora-error.ts';
import { checkOwnSprite, organizationOf, type Principal } from '../tokens/principal.ts';
import type { MachineRow, MachineStore } from './machine-store.ts';

export interface MachinePath {
  readonly app_name: string;
  readonly machine_id: string;
}

/**
 * One answer, `not_found`, for a machine that is not there, of another app, and of another organization. Throws `forbidden`
 * when a sprite names another machine than its own, whether or not there is one.
 */
export async function findMachineFor(
  principal: Principal,
  path: MachinePath,
  machines: MachineStore,
): Promise<MachineRow> {
  const organization = organizationOf(principal);
  const row = await machines.find(path.machine_id);
  checkOwnSprite(principal, (own) => row?.sprite_id === own.id);
  if (row === undefined || row.organization_id !== organization.id || row.app !== path.app_name) {
    throw new RemoraError('not_found', 'there is no such machine');
  }
  return row;
}
