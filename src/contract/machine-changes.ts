// Making, changing and deleting machines, and what else the Fly Machines API does with one: a restart, a signal, its versions, its
// processes, and a cordon.
import * as z from './lazy-zod.ts';
import { machineConfig, machineConfigRequest } from './machine-config.ts';
import { appParams, machine, machineOk, machineParams, stopMachineRequest } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { queryBoolean } from './query-values.ts';
import { dateTime } from './time.ts';

/** The name of a machine, which no other machine of its app has. */
const machineName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'expected 1 to 63 lower-case letters, digits and dashes, with no dash at either end',
  );

const LEASE_MAX_S = 3_600;
/** How long a lease lasts, in seconds. */
export const leaseTtl = z.int().min(1).max(LEASE_MAX_S);

/**
 * `skip_launch`: the machine is made and not started. `lease_ttl`: the caller gets a lease of so many seconds with the machine, whose nonce
 * is in the answer. `skip_service_registration`: the machine is cordoned. A field that is absent is chosen here.
 */
export const createMachineRequest = z.object({
  name: machineName.optional(),
  region: z.string().max(32).optional(),
  config: machineConfigRequest,
  skip_launch: z.boolean().default(false),
  lease_ttl: leaseTtl.optional(),
  skip_service_registration: z.boolean().default(false),
});
export type CreateMachineRequest = z.infer<typeof createMachineRequest>;

/**
 * The whole new configuration; what it leaves out is as if it had never been said. `current_version`: the `version` or `instance_id` that
 * the machine must still have.
 */
export const updateMachineRequest = z.object({
  ...createMachineRequest.shape,
  current_version: z.string().max(64).optional(),
});
export type UpdateMachineRequest = z.infer<typeof updateMachineRequest>;

/** `kill` means the same as `force`. */
export const destroyMachineRequest = z.object({
  force: queryBoolean().default(false),
  kill: queryBoolean().default(false),
});
export type DestroyMachineRequest = z.infer<typeof destroyMachineRequest>;

/** `timeout`: how long the machine has to end, in seconds or text such as `30s`. */
export const restartMachineRequest = z.object({
  timeout: z.string().max(16).optional(),
  force_stop: queryBoolean().default(false),
  signal: z.string().max(16).optional(),
});
export type RestartMachineRequest = z.infer<typeof restartMachineRequest>;

export const signalMachineRequest = z.object({ signal: z.string().max(16) });
export type SignalMachineRequest = z.infer<typeof signalMachineRequest>;

/** One configuration that the machine has had; the newest 20 are kept. */
export const machineVersion = z.object({ version: z.string(), user_config: machineConfig, created_at: dateTime });
export type MachineVersion = z.infer<typeof machineVersion>;

const tag = 'Machines';
const source = 'Fly Machines API';
const access = 'organization';
const servedAt = ['tcp', 'operator'] as const;
const shared = { source, tag, servedAt, access } as const;
const ok = { kind: 'json', status: 200, schema: machineOk } as const;
const found = ['unauthorized', 'forbidden', 'not_found'] as const;
/** Errors of whatever moves a machine. */
const moved = [
  ...found,
  'read_only',
  'conflict',
  'external_machine',
  'other_host',
  'not_reachable',
  'too_many_requests',
] as const;
const started = ['concurrent_sprite_limit_exceeded', 'not_configured', 'storage_full', 'shutting_down'] as const;

export const machineChangeOperations = {
  createMachine: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/apps/{app_name}/machines',
    summary: 'Make a machine, and start it unless skip_launch says otherwise; wait for its state to know that it runs',
    params: appParams,
    body: createMachineRequest,
    unsupported: ['lsvd', 'min_secrets_version'],
    answer: { kind: 'json', status: 200, schema: machine },
    errors: [
      'invalid_request',
      'unsupported_field',
      ...moved,
      'already_exists',
      'unsupported_by_driver',
      'limit_reached',
      ...started,
    ],
  }),
  updateMachine: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}',
    summary:
      'Give a machine another configuration: one that runs is replaced, the snapshot of a suspended one is discarded',
    params: machineParams,
    body: updateMachineRequest,
    unsupported: ['lsvd', 'min_secrets_version'],
    answer: { kind: 'json', status: 200, schema: machine },
    errors: [
      'invalid_request',
      'unsupported_field',
      ...moved,
      'invalid_state',
      'already_exists',
      'unsupported_by_driver',
      ...started,
    ],
  }),
  destroyMachine: definePlatformOperation({
    ...shared,
    method: 'DELETE',
    path: '/v1/apps/{app_name}/machines/{machine_id}',
    summary: 'Delete a machine that does not run, with force also one that runs; its volumes stay',
    params: machineParams,
    query: destroyMachineRequest,
    answer: ok,
    errors: ['invalid_request', ...moved, 'invalid_state'],
  }),
  restartMachine: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/restart',
    summary: 'Stop a machine and boot it; one that is stopped is booted',
    params: machineParams,
    query: restartMachineRequest,
    body: stopMachineRequest.optional(),
    answer: ok,
    errors: ['invalid_request', ...moved, 'invalid_state', 'start_failed', ...started],
  }),
  signalMachine: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/signal',
    summary: 'Send a signal to what a machine runs first',
    params: machineParams,
    body: signalMachineRequest,
    answer: ok,
    errors: ['invalid_request', ...moved, 'invalid_state', 'unsupported_by_driver'],
  }),
  listMachineVersions: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/versions',
    summary: 'The configurations that a machine has had, newest first',
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: z.array(machineVersion) },
    errors: [...found, 'too_many_requests'],
  }),
  cordonMachine: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/cordon',
    summary: 'Let a machine get no more traffic through the proxy; it goes on running',
    params: machineParams,
    answer: ok,
    errors: [...found, 'read_only', 'conflict', 'too_many_requests'],
  }),
  uncordonMachine: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/uncordon',
    summary: 'Let a machine get traffic through the proxy again',
    params: machineParams,
    answer: ok,
    errors: [...found, 'read_only', 'conflict', 'too_many_requests'],
  }),
} as const;
