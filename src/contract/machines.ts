// Machines and what may be asked of them: suspend, wait, start, stop (Suspend and Replication; shapes that it does not show are
// those of the Fly Machines API).
import * as z from './lazy-zod.ts';
import { machineConfig } from './machine-config.ts';
import { discardCause, machineStates } from './machine-events.ts';
import { definePlatformOperation } from './operation.ts';
import { queryBoolean, queryClamped, queryFlag, queryInteger } from './query-values.ts';
import { dateTime } from './time.ts';

/** Suspend and Replication, States and transitions, and `created`, `failed` and `destroyed` of the Fly Machines API. `started` is read as `running`, the word that is emitted. */
export const machineStatus = z
  .enum([...machineStates, 'started'])
  .transform((word) => (word === 'started' ? 'running' : word))
  .pipe(z.enum(machineStates));
export type MachineStatus = z.infer<typeof machineStatus>;

/**
 * How the last instance of a machine ended; both are null when the platform did not see it. `requested`: a stop had been asked
 * for.
 */
export const machineExit = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  requested: z.boolean(),
  at: dateTime,
});
export type MachineExit = z.infer<typeof machineExit>;

/** The role that a database node states, as in LiteFS. */
export const machineRole = z.enum(['primary', 'replica']);
export type MachineRole = z.infer<typeof machineRole>;

const imageRef = z.object({
  registry: z.string(),
  repository: z.string(),
  tag: z.string(),
  digest: z.string(),
  labels: z.record(z.string(), z.string()).nullable(),
});

/**
 * One machine, with the fields of the Fly Machines API where Suspend and Replication shows none. `instance_id` names one
 * instance: one boot of the machine by its driver. A crash leaves the state `stopped` and a `last_exit` that was not requested.
 */
export const machine = z.object({
  id: z.string(),
  name: z.string().optional(),
  /** Remora's own field: the name of the sprite whose machine this is. */
  sprite: z.string().optional(),
  state: machineStatus,
  region: z.string().optional(),
  instance_id: z.string().optional(),
  private_ip: z.string().optional(),
  /** Names its configuration. */
  version: z.string().optional(),
  /** What `config.image` names. */
  image_ref: imageRef.optional(),
  /** Remora's own field: it gets no traffic through the proxy. */
  cordoned: z.boolean().optional(),
  /** Only in the answer that made it, where a lease was asked for. */
  nonce: z.string().optional(),
  /** There are none: a platform of Remora does not check what a machine serves. */
  checks: z.array(z.object({ name: z.string(), status: z.string() })).optional(),
  config: machineConfig.optional(),
  metadata: z.object({ role: machineRole.optional() }).optional(),
  last_exit: machineExit.optional(),
  created_at: dateTime.optional(),
  updated_at: dateTime.optional(),
});
export type Machine = z.infer<typeof machine>;

/** The whole answer of suspend, stop and wait. */
export const machineOk = z.object({ ok: z.literal(true) });
export type MachineOk = z.infer<typeof machineOk>;

/** Query of the wait operation. `timeout` in seconds is clamped to 1–60. */
export const waitMachineRequest = z.object({
  state: machineStatus.default('running'),
  timeout: queryClamped(1, 60).default(60),
  instance_id: z.string().optional(),
});
export type WaitMachineRequest = z.infer<typeof waitMachineRequest>;

/** `timeout` is in seconds, or text such as `30s`. */
export const stopMachineRequest = z.object({
  signal: z.string().optional(),
  timeout: z.union([z.number().nonnegative(), z.string()]).optional(),
});
export type StopMachineRequest = z.infer<typeof stopMachineRequest>;

/** `cold_start` is Remora's own field: the machine booted because its snapshot had been thrown away, for this cause. */
export const startMachineResponse = z.object({
  previous_state: machineStatus,
  cold_start: discardCause.optional(),
  migrated: z.boolean(),
  new_host: z.string().optional(),
});
export type StartMachineResponse = z.infer<typeof startMachineResponse>;

export const machineParams = z.object({ app_name: z.string().min(1), machine_id: z.string().min(1) });

export const appParams = z.object({ app_name: z.string().min(1) });

/** Query of the log of a machine: how many earlier lines to send, and whether to go on with new ones. */
export const machineLogRequest = z.object({
  tail: queryClamped(0, 1_000).default(100),
  follow: queryBoolean().default(false),
});
export type MachineLogRequest = z.infer<typeof machineLogRequest>;

export const machineLogLine = z.object({ line: z.string() });

/**
 * Query of the list of machines. A caller that gets `limit` machines asks again with the last id in `after`. `metadata.KEY=VALUE` selects by
 * metadata. `summary` leaves out configurations. `include_deleted` adds those that were deleted in the last 48 hours.
 */
export const listMachinesRequest = z.looseObject({
  state: machineStatus.optional(),
  region: z.string().max(32).optional(),
  summary: queryFlag().default(false),
  include_deleted: queryFlag().default(false),
  limit: queryInteger(1, 1_000).default(1_000),
  after: z.string().max(64).default(''),
});
export type ListMachinesRequest = z.infer<typeof listMachinesRequest>;

const tag = 'Machines';
const access = 'every';
/** Errors by which the call of a sprite is refused when it comes from a copy of its machine. */
const fenced = ['incarnation_conflict', 'rewound'] as const;
const ok = { kind: 'json', status: 200, schema: machineOk } as const;

export const machineOperations = {
  listMachines: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines',
    summary: 'List the machines of an app, by id',
    source: 'Fly Machines API',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: appParams,
    query: listMachinesRequest,
    answer: { kind: 'json', status: 200, schema: z.array(machine) },
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
  readMachine: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}',
    summary: 'Read one machine with its state and configuration',
    source: 'Fly Machines API',
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: machine },
    errors: ['unauthorized', 'not_found', ...fenced],
  }),
  readMachineLog: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/log',
    summary: 'The newest lines of what the agent of a machine has logged, and with follow=true those that come',
    source: 'Remora',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    readOnly: false,
    params: machineParams,
    query: machineLogRequest,
    answer: { kind: 'stream', status: 200, schema: machineLogLine },
    errors: [
      'invalid_request',
      'unauthorized',
      'read_only',
      'not_found',
      'other_host',
      'external_machine',
      'too_many_requests',
    ],
  }),
  suspendMachine: definePlatformOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/suspend',
    summary: 'Suspend a machine; the answer says that it was accepted, the freeze comes later',
    source: 'Suspend and Replication, Machines API; Fly Machines API',
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: machineParams,
    answer: ok,
    errors: [
      'unauthorized',
      'not_found',
      'invalid_state',
      'external_machine',
      'other_host',
      'concurrent_sprite_limit_exceeded',
      'not_eligible',
      'too_many_requests',
      ...fenced,
    ],
  }),
  waitMachine: definePlatformOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/wait',
    summary: 'Wait until a machine has reached a state',
    source: 'Suspend and Replication, Machines API; Fly Machines API',
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: machineParams,
    query: waitMachineRequest,
    answer: ok,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'timeout', 'invalid_state', 'other_host', ...fenced],
  }),
  startMachine: definePlatformOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/start',
    summary: 'Start a machine; resumes from the snapshot when one is valid',
    source: 'Suspend and Replication, Machines API; Fly Machines API',
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: startMachineResponse },
    errors: [
      'unauthorized',
      'not_found',
      'invalid_state',
      'concurrent_sprite_limit_exceeded',
      'external_machine',
      'other_host',
      'too_many_requests',
      'start_failed',
      'host_drained',
      'shutting_down',
      ...fenced,
    ],
  }),
  stopMachine: definePlatformOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/stop',
    summary: 'Stop a machine; a snapshot is discarded',
    source: 'Suspend and Replication, States and transitions; Fly Machines API',
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: machineParams,
    body: stopMachineRequest.optional(),
    answer: ok,
    errors: [
      'invalid_request',
      'unauthorized',
      'not_found',
      'invalid_state',
      'external_machine',
      'other_host',
      'too_many_requests',
      ...fenced,
    ],
  }),
  adoptMachine: definePlatformOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/adopt',
    summary: 'Let the next agent that reports as this machine, and is not the one that is served, take its place',
    source: 'Remora',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: machineParams,
    answer: ok,
    errors: ['unauthorized', 'not_found'],
  }),
} as const;
