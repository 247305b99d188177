// Values that are kept with a machine: clients find machines by them.
import * as z from './lazy-zod.ts';
import { METADATA_MAX, metadataKey, metadataValue } from './machine-config.ts';
import { machineParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';

export const machineMetadata = z
  .record(metadataKey, metadataValue)
  .refine((metadata) => Object.keys(metadata).length <= METADATA_MAX, {
    error: `has more than ${METADATA_MAX} entries`,
  });
export type MachineMetadata = z.infer<typeof machineMetadata>;

export const machineMetadataValue = z.object({ value: metadataValue });
export type MachineMetadataValue = z.infer<typeof machineMetadataValue>;

const all = '/v1/apps/{app_name}/machines/{machine_id}/metadata';
const one = `${all}/{key}` as const;
const keyParams = z.object({ ...machineParams.shape, key: metadataKey });
const shared = {
  source: 'Fly Machines API',
  tag: 'Machines',
  servedAt: ['tcp', 'operator'],
  access: 'organization',
} as const;
const found = ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'too_many_requests'] as const;
const changed = [...found, 'read_only', 'conflict'] as const;
const empty = { kind: 'empty', status: 204 } as const;

export const machineMetadataOperations = {
  readMachineMetadata: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: all,
    summary: 'Read all metadata of a machine',
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: machineMetadata },
    errors: found,
  }),
  replaceMachineMetadata: definePlatformOperation({
    ...shared,
    method: 'PUT',
    path: all,
    summary: 'Replace all metadata of a machine; it goes on running',
    params: machineParams,
    body: machineMetadata,
    answer: empty,
    errors: changed,
  }),
  readMachineMetadataKey: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: one,
    summary: 'Read one value of the metadata of a machine',
    params: keyParams,
    answer: { kind: 'json', status: 200, schema: machineMetadataValue },
    errors: found,
  }),
  setMachineMetadataKey: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: one,
    source: 'Fly Machines API; LiteFS',
    summary: 'Set one value of the metadata of a machine; a machine sets its own role only, as a database node does',
    access: 'every',
    params: keyParams,
    body: machineMetadataValue,
    answer: empty,
    errors: [...changed, 'incarnation_conflict', 'rewound'],
  }),
  putMachineMetadataKey: definePlatformOperation({
    ...shared,
    method: 'PUT',
    path: one,
    summary: 'Set one value of the metadata of a machine, as POST does',
    params: keyParams,
    body: machineMetadataValue,
    answer: empty,
    errors: changed,
  }),
  deleteMachineMetadataKey: definePlatformOperation({
    ...shared,
    method: 'DELETE',
    path: one,
    summary: 'Remove one value of the metadata of a machine; it goes on running',
    params: keyParams,
    answer: empty,
    errors: changed,
  }),
} as const;
