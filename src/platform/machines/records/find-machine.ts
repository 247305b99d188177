// Finds the machine that a path names, for the caller who may use it.
import { RemoraError } from '../../../core/remora-error.ts';
import { checkOwnSprite, organizationOf, type Principal } from '../../tokens/principal.ts';
import type { MachineRow } from './machine-row.ts';
import type { MachineStore } from './machine-store.ts';

export interface MachinePath {
  readonly app_name: string;
  readonly machine_id: string;
}

/**
 * Throws the same `not_found` for a machine that does not exist, of another app, and of another organization. Throws `forbidden`
 * when a sprite or a machine names a machine other than its own, whether or not it exists.
 */
export async function findMachineFor(
  principal: Principal,
  path: MachinePath,
  machines: Pick<MachineStore, 'find'>,
): Promise<MachineRow> {
  const organization = organizationOf(principal);
  const row = await machines.find(path.machine_id);
  checkOwnSprite(
    principal,
    (own) => row?.sprite_id === own.id && row.id === (principal.type === 'machine' ? principal.machine_id : row.id),
  );
  if (row === undefined || row.organization_id !== organization.id || row.app !== path.app_name) {
    throw new RemoraError('not_found', 'there is no such machine');
  }
  return row;
}
