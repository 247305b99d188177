// The operations of the metadata of a machine, which is a part of its configuration that changes without a new version. The key `role` is
// what the database node of the machine states.
import { METADATA_MAX } from '../../contract/machine-config.ts';
import { type MachineMetadata, machineMetadataOperations as operations } from '../../contract/machine-metadata.ts';
import { machineRole } from '../../contract/machines.ts';
import type { Operation } from '../../contract/operation.ts';
import type { Clock } from '../../core/clock.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { MachineAccess, MachineCall } from '../machines/access/machine-access.ts';
import { createMachineConfigStore } from '../machines/records/machine-config-store.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import { createMachineStore } from '../machines/records/machine-store.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';

export interface MachineMetadataDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly access: MachineAccess;
  readonly clock: Clock;
}

const ROLE = 'role';

export function createMachineMetadataHandlers(deps: MachineMetadataDeps): Handlers<typeof operations, Principal> {
  const { storage, access, clock } = deps;

  /** `change` gets all of the metadata, and what it returns is recorded. */
  async function write(
    call: MachineCall,
    operation: Operation,
    change: (metadata: MachineMetadata) => MachineMetadata,
  ): Promise<void> {
    const isOwn = call.principal.type !== 'organization';
    const { id, app } = isOwn ? await access.find(call, operation) : await access.findToChange(call, operation);
    await storage.transaction(async (sql) => {
      const [machines, configs] = [createMachineStore(sql), createMachineConfigStore(sql)];
      const row = await machines.find(id);
      if (row === undefined) throw new RemoraError('not_found', 'there is no such machine');
      const { [ROLE]: role, ...metadata } = change(toMetadata(row));
      if (Object.keys(metadata).length > METADATA_MAX) {
        throw refuseField('body', `a machine has at most ${METADATA_MAX} values`);
      }
      await configs.setConfig(id, { ...row.config, metadata }, clock.wall_ms());
      if (role === undefined) return await configs.clearRole(id);
      const known = machineRole.safeParse(role).data;
      if (known === undefined) throw refuseField('body.value', 'the role of a database node is primary or replica');
      await machines.setRole(id, known, clock.wall_ms());
    }, `app ${app}`);
  }

  return {
    readMachineMetadata: async (call) => toMetadata(await access.find(call, operations.readMachineMetadata)),
    replaceMachineMetadata: (call) => write(call, operations.replaceMachineMetadata, () => call.body),
    async readMachineMetadataKey(call) {
      const metadata = toMetadata(await access.find(call, operations.readMachineMetadataKey));
      const value = Object.hasOwn(metadata, call.params.key) ? metadata[call.params.key] : undefined;
      if (value !== undefined) return { value };
      throw new RemoraError('not_found', `the metadata of this machine has no ${call.params.key}`);
    },
    async setMachineMetadataKey(call) {
      const { key } = call.params;
      // The database node of a leased machine goes on saying what it is.
      if (call.principal.type !== 'organization' && key !== ROLE) {
        throw new RemoraError('forbidden', `a machine sets its own ${ROLE} only; use the token of an organization`);
      }
      await write(call, operations.setMachineMetadataKey, (all) => ({ ...all, [key]: call.body.value }));
    },
    putMachineMetadataKey: (call) =>
      write(call, operations.putMachineMetadataKey, (all) => ({ ...all, [call.params.key]: call.body.value })),
    deleteMachineMetadataKey: (call) =>
      write(call, operations.deleteMachineMetadataKey, (metadata) => {
        const { [call.params.key]: removed, ...rest } = metadata;
        if (removed !== undefined) return rest;
        throw new RemoraError('not_found', `the metadata of this machine has no ${call.params.key}`);
      }),
  };
}

function toMetadata({ config, role }: MachineRow): MachineMetadata {
  return { ...config.metadata, ...(role === null ? {} : { [ROLE]: role }) };
}
