// The operations of volumes.
import type { IncomingMessage } from 'node:http';
import type { Operation, ValueOf } from '../../contract/operation.ts';
import { volumeOperations as operations } from '../../contract/volumes.ts';
import type { Clock } from '../../core/clock.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { AppService } from '../apps/app-service.ts';
import type { MachineAccess } from '../machines/access/machine-access.ts';
import { REGION } from '../machines/records/machine-defaults.ts';
import { createVolumeStore, type VolumeRow } from '../machines/records/volume-store.ts';
import type { Sql } from '../storage/storage.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import { toVolumeRecord, type VolumeService } from './volume-service.ts';

export interface VolumeHandlerDeps {
  readonly storage: Sql;
  readonly apps: Pick<AppService, 'find'>;
  readonly access: Pick<MachineAccess, 'pass'>;
  readonly volumeService: VolumeService;
  readonly clock: Clock;
}

interface VolumeCall {
  readonly params: { readonly app_name: string; readonly volume_id: string };
  readonly principal: Principal;
  readonly request: IncomingMessage;
  readonly body?: unknown;
}

export function createVolumeHandlers(deps: VolumeHandlerDeps): Handlers<typeof operations, Principal> {
  const { apps, access, volumeService, clock } = deps;
  const volumes = createVolumeStore(deps.storage);

  /** Throws the same `not_found` for a volume that does not exist, of another app, and of another organization. */
  async function find({ principal, params }: Pick<VolumeCall, 'principal' | 'params'>): Promise<VolumeRow> {
    const row = await volumes.find(params.volume_id);
    if (row?.organization_id === organizationOf(principal).id && row.app === params.app_name) return row;
    throw new RemoraError('not_found', 'there is no such volume');
  }

  /** The platform process that has the files does the work. */
  async function atHost<O extends Operation>(
    call: VolumeCall,
    operation: O,
    work: (row: VolumeRow) => Promise<ValueOf<O>>,
  ): Promise<ValueOf<O>> {
    const row = await find(call);
    const passed = await access.pass(row.host, call, operation);
    return passed === undefined ? await work(row) : passed.value;
  }

  return {
    async listVolumes({ principal, params }) {
      const organization = organizationOf(principal);
      const { name } = await apps.find(organization, params.app_name);
      return (await volumes.list(organization.id, name)).map(toVolumeRecord);
    },
    async createVolume({ principal, params, body }) {
      const organization = organizationOf(principal);
      const { name: app } = await apps.find(organization, params.app_name);
      if (body.region !== undefined && body.region !== REGION) {
        throw refuseField('body.region', `there is one region, ${REGION}; leave it out`);
      }
      const { name, size_gb } = body;
      return toVolumeRecord(await volumeService.create({ organization_id: organization.id, app, name, size_gb }));
    },
    readVolume: async (call) => toVolumeRecord(await find(call)),
    async updateVolume(call) {
      const row = await find(call);
      await volumes.rename(row.id, call.body.name, clock.wall_ms());
      return toVolumeRecord({ ...row, name: call.body.name });
    },
    deleteVolume: (call) =>
      atHost(call, operations.deleteVolume, async (row) => toVolumeRecord(await volumeService.remove(row))),
    extendVolume: (call) =>
      atHost(call, operations.extendVolume, async (found) => {
        const { row, isSeen } = await volumeService.extend(found, call.body.size_gb);
        return { needs_restart: !isSeen, volume: toVolumeRecord(row) };
      }),
    async listVolumeSnapshots(call) {
      await find(call);
      return [];
    },
  };
}
