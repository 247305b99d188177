// The volumes that the configuration of a machine names, checked and recorded as its own.
import type { MachineConfig } from '../../contract/machine-config.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { createVolumeStore, type VolumeRow } from '../machines/records/volume-store.ts';
import type { Sql } from '../storage/storage.ts';

export interface MountingMachine extends Pick<MachineRow, 'id' | 'app' | 'organization_id' | 'host'> {
  readonly config: MachineConfig;
}

/** The volumes in the order of the mounts. Throws `invalid_request` for one that the app does not have, and for one that is named twice. */
export async function findMounted(
  sql: Sql,
  { app, organization_id, config }: Pick<MountingMachine, 'app' | 'organization_id' | 'config'>,
): Promise<VolumeRow[]> {
  const volumes = createVolumeStore(sql);
  const found: VolumeRow[] = [];
  const paths = new Set<string>();
  for (const [index, { volume, path }] of (config.mounts ?? []).entries()) {
    const field = `body.config.mounts.${index}`;
    const row = await volumes.find(volume);
    if (row === undefined || row.organization_id !== organization_id || row.app !== app) {
      throw refuseField(`${field}.volume`, `there is no volume ${volume} in this app`);
    }
    if (found.some(({ id }) => id === row.id)) throw refuseField(`${field}.volume`, 'it is mounted already');
    if ([...paths].some((other) => isWithin(path, other) || isWithin(other, path))) {
      throw refuseField(`${field}.path`, 'another volume is mounted there');
    }
    paths.add(path);
    found.push(row);
  }
  return found;
}

/** `sql` is that of a transaction. Throws what `findMounted` throws, and `conflict` for a volume that the machine cannot have. */
export async function attachVolumes(sql: Sql, machine: MountingMachine, now_ms: number): Promise<void> {
  const mounted = await findMounted(sql, machine);
  for (const { id, state, machine_id, host } of mounted) {
    if (machine_id !== null && machine_id !== machine.id) {
      throw new RemoraError('conflict', `the machine ${machine_id} has the volume ${id} mounted; take another`);
    }
    if (machine.host !== null && host !== machine.host) {
      throw new RemoraError('conflict', `the volume ${id} is on another host than the machine; take another`);
    }
    if (state !== 'created') throw new RemoraError('conflict', `the volume ${id} is ${state}; try again later`);
  }
  const ids = mounted.map(({ id }) => id);
  await createVolumeStore(sql).attach(machine.id, ids, now_ms);
}

function isWithin(path: string, other: string): boolean {
  return path === other || path.startsWith(`${other}/`);
}
