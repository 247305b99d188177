// Makes, enlarges and deletes volumes: each move is recorded before the driver takes it and after, so that the next platform process goes
// on where this one ended.
import type { Volume } from '../../contract/volumes.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { createKeyedMutex } from '../../core/keyed-mutex.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { randomHex } from '../../core/urandom.ts';
import { toAppTurn } from '../apps/app-turn.ts';
import type { MachineVolumes } from '../machines/drivers/machine-volumes.ts';
import { REGION } from '../machines/records/machine-defaults.ts';
import { createVolumeStore, type VolumeRow, type VolumeState } from '../machines/records/volume-store.ts';
import type { Storage } from '../storage/storage.ts';

export interface NewVolumeOptions {
  readonly organization_id: string;
  readonly app: string;
  readonly name: string;
  readonly size_gb: number;
}

export interface VolumeService {
  /** Finishes what an earlier process began, and logs what it cannot. Never rejects. */
  carryOn(): Promise<void>;
  /** Throws `limit_reached`, and `storage_full`; nothing is left of it then. */
  create(volume: NewVolumeOptions): Promise<VolumeRow>;
  /** Throws `conflict` for a size that is not larger, and while another move is under way. `isSeen`: the machine sees the new size at once. */
  extend(row: VolumeRow, size_gb: number): Promise<{ readonly row: VolumeRow; readonly isSeen: boolean }>;
  /** Throws `conflict` while a machine has it, and while another move is under way. */
  remove(row: VolumeRow): Promise<VolumeRow>;
  /** Deletes every volume of an organization. Throws what `remove` throws, and `conflict` for one on another host. */
  removeAll(organization_id: string): Promise<void>;
}

export interface VolumeServiceDeps {
  readonly storage: Storage;
  readonly files: MachineVolumes;
  /** The id of this platform process. */
  readonly host: string;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
}

const ID_BYTES = 10;
const VOLUMES_MAX = 1_000;

export function createVolumeService(deps: VolumeServiceDeps): VolumeService {
  const { storage, files, host, clock, log } = deps;
  const volumes = createVolumeStore(storage);
  const mutex = createKeyedMutex();

  async function again(id: string): Promise<VolumeRow> {
    const row = await volumes.find(id);
    if (row === undefined) throw new RemoraError('not_found', 'there is no such volume');
    return row;
  }

  /** Moves a volume, and counts the usage that ends. */
  const move = (id: string, to: VolumeState, size_gb?: number) =>
    storage.transaction((sql) => createVolumeStore(sql).move(id, 'created', to, clock.wall_ms(), size_gb));

  async function finish({ id, state, size_gb }: VolumeRow): Promise<void> {
    switch (state) {
      case 'created':
        return;
      case 'creating':
        await files.make(id, size_gb);
        break;
      case 'extending':
        await files.extend(id, size_gb);
        break;
      case 'destroying':
        await files.remove(id);
        return await volumes.delete(id);
      default:
        state satisfies never;
    }
    await volumes.move(id, state, 'created', clock.wall_ms());
  }

  function remove({ id }: VolumeRow): Promise<VolumeRow> {
    return mutex.run(id, async () => {
      const row = await again(id);
      if (!(await move(id, 'destroying'))) throw toBusy(row);
      await finish({ ...row, state: 'destroying' });
      return { ...row, state: 'destroying' };
    });
  }

  return {
    async carryOn() {
      try {
        for (const row of await volumes.listUnfinished(host)) {
          await mutex
            .run(row.id, async () => finish(await again(row.id)))
            .catch((error: unknown) => {
              log.error({ err: error, volume: row.id }, `a volume that was ${row.state} could not be carried on with`);
            });
        }
      } catch (error) {
        log.error({ err: error }, 'the volumes that were there before could not be read');
      }
    },
    async create({ organization_id, app, name, size_gb }) {
      const id = `vol_${randomHex(ID_BYTES)}`;
      await storage.transaction(async (sql) => {
        const inside = createVolumeStore(sql);
        const count = await inside.count(organization_id);
        if (count >= VOLUMES_MAX) {
          const message = `the organization has ${count} volumes already; delete one first`;
          throw new RemoraError('limit_reached', message, { details: { limit: VOLUMES_MAX } });
        }
        await inside.insert({ id, organization_id, app, name, region: REGION, size_gb, host }, clock.wall_ms());
      }, toAppTurn(app));
      return await mutex.run(id, async () => {
        try {
          await finish(await again(id));
        } catch (error) {
          await files.remove(id);
          await volumes.delete(id);
          throw error;
        }
        return await again(id);
      });
    },
    extend: ({ id }, size_gb) =>
      mutex.run(id, async () => {
        const row = await again(id);
        if (size_gb <= row.size_gb) {
          throw new RemoraError('conflict', `the volume has ${row.size_gb} GB; it can be made larger only`);
        }
        if (!(await move(id, 'extending', size_gb))) throw toBusy(row);
        const isSeen = await files.extend(id, size_gb);
        await volumes.move(id, 'extending', 'created', clock.wall_ms());
        return { row: await again(id), isSeen: isSeen || row.machine_id === null };
      }),
    remove,
    async removeAll(organization_id) {
      for (const row of await volumes.listOf(organization_id)) {
        if (row.host !== host)
          throw new RemoraError('conflict', `the volume ${row.id} is on another host; delete it first`);
        await remove(row);
      }
    },
  };
}

function toBusy({ id, state, machine_id }: VolumeRow): RemoraError {
  const message =
    machine_id === null
      ? `the volume ${id} is ${state}; try again later`
      : `the machine ${machine_id} has the volume ${id} mounted; update or delete the machine first`;
  return new RemoraError('conflict', message, { details: { state, machine_id } });
}

export function toVolumeRecord(row: VolumeRow): Volume {
  const { id, name, state, size_gb, region, host } = row;
  return {
    id,
    name,
    state,
    size_gb,
    region,
    zone: host ?? region,
    encrypted: false,
    attached_machine_id: row.machine_id,
    attached_alloc_id: null,
    host,
    created_at: toDateTime(row.created_at),
  };
}
