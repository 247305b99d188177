// Leases of machines: who holds one is the only one that moves or changes the machine.
import * as z from './lazy-zod.ts';
import { leaseTtl } from './machine-changes.ts';
import { machineOk, machineParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';

/** The holder of a lease sends its nonce with every call that moves or changes the machine. */
export const LEASE_HEADER = 'fly-machine-lease-nonce';

const DEFAULT_TTL_S = 60;

/** `ttl` in seconds. */
export const createLeaseRequest = z.object({
  ttl: leaseTtl.default(DEFAULT_TTL_S),
  description: z.string().max(256).default(''),
});
export type CreateLeaseRequest = z.infer<typeof createLeaseRequest>;

/** `expires_at` in Unix seconds; `owner` is the user of the token, or the id of the token; `version` is that of the machine. */
export const machineLease = z.object({
  nonce: z.string(),
  expires_at: z.int(),
  owner: z.string(),
  description: z.string(),
  version: z.string(),
});
export const machineLeaseResponse = z.object({ status: z.literal('success'), data: machineLease });
export type MachineLeaseResponse = z.infer<typeof machineLeaseResponse>;

const path = '/v1/apps/{app_name}/machines/{machine_id}/lease';
const shared = {
  path,
  source: 'Fly Machines API',
  tag: 'Machines',
  servedAt: ['tcp', 'operator'],
  access: 'organization',
  params: machineParams,
} as const;
const answer = { kind: 'json', status: 200, schema: machineLeaseResponse } as const;
const found = ['unauthorized', 'forbidden', 'not_found', 'too_many_requests'] as const;

export const machineLeaseOperations = {
  readLease: definePlatformOperation({
    ...shared,
    method: 'GET',
    summary: 'Read the lease of a machine; 404 when nobody holds one',
    // The nonce is what lets its holder move the machine.
    readOnly: false,
    answer,
    errors: [...found, 'read_only'],
  }),
  acquireLease: definePlatformOperation({
    ...shared,
    method: 'POST',
    summary: 'Get the lease of a machine, or make the one whose nonce is sent last longer',
    body: createLeaseRequest.prefault({}),
    answer,
    errors: ['invalid_request', ...found, 'read_only', 'conflict'],
  }),
  releaseLease: definePlatformOperation({
    ...shared,
    method: 'DELETE',
    summary: 'Give back the lease whose nonce is sent',
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: [...found, 'read_only', 'conflict'],
  }),
} as const;
