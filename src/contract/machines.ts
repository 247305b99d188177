// Machines and what may be asked of them: suspend, wait, start, stop (document 3; shapes from wire-facts.md, section 2).
import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { queryClamped } from './query-values.ts';
import { dateTime } from './time.ts';

const statuses = ['running', 'suspending', 'suspended', 'starting', 'stopped'] as const;

/** Document 3, "States and transitions". `started` is read as `running`, which is the word that is emitted. */
export const machineStatus = z
  .enum([...statuses, 'started'])
  .transform((word) => (word === 'started' ? 'running' : word))
  .pipe(z.enum(statuses));
export type MachineStatus = z.infer<typeof machineStatus>;

/** Document 3, "Automatic suspend configuration". */
export const httpServiceSettings = z.object({
  auto_stop_machines: z.enum(['suspend', 'stop']).optional(),
  auto_start_machines: z.boolean().optional(),
  concurrency: z
    .object({ type: z.literal('requests').optional(), soft_limit: z.int().positive().optional() })
    .optional(),
});
export type HttpServiceSettings = z.infer<typeof httpServiceSettings>;

/**
 * The part of a machine's configuration that document 3, "Suspend eligibility" asks about. `driver` is ours: how the
 * platform runs the machine; `process` shares the kernel, and so its memory and swap, with the host.
 */
export const machineConfig = z.object({
  guest: z.object({ memory_mb: z.int().positive().optional(), cpus: z.int().positive().optional() }).optional(),
  init: z.object({ swap_size_mb: z.int().nonnegative().nullable().optional() }).optional(),
  schedule: z.string().nullable().optional(),
  http_service: httpServiceSettings.optional(),
  /** Ours: what runs the machine. Under `process` the kernel is the host's, and its memory and swap say nothing here. */

  driver: z.string().optional(),
});
export type MachineConfig = z.infer<typeof machineConfig>;

/** How the last life of a machine ended; both null when nobody saw it. `requested`: somebody had asked for a stop. */
export const machineExit = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  requested: z.boolean(),
  at: dateTime,
});
export type MachineExit = z.infer<typeof machineExit>;

/** What a database node says of itself (wire-facts.md, section 1). */
export const machineRole = z.enum(['primary', 'replica']);
export type MachineRole = z.infer<typeof machineRole>;

/**
 * One machine (fields not shown in document 3; wire-facts.md, section 2). `instance_id` names one life of the machine. A crash
 * leaves the state `stopped` and a `last_exit` that was not requested.
 */
export const machine = z.object({
  id: z.string(),
  name: z.string().optional(),
  state: machineStatus,
  region: z.string().optional(),
  instance_id: z.string().optional(),
  private_ip: z.string().optional(),
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

export const startMachineResponse = z.object({
  previous_state: machineStatus,
  migrated: z.boolean(),
  new_host: z.string().optional(),
});
export type StartMachineResponse = z.infer<typeof startMachineResponse>;

/** Sent by a database node (wire-facts.md, section 1). */
export const machineRoleRequest = z.object({ value: machineRole });
export type MachineRoleRequest = z.infer<typeof machineRoleRequest>;

export const machineParams = z.object({ app_name: z.string().min(1), machine_id: z.string().min(1) });

const tag = 'Machines';
const access = 'any';
/** A sprite's own call is refused when it comes from a copy of its machine. */
const fenced = ['incarnation_conflict', 'rewound'] as const;
const ok = { kind: 'json', status: 200, schema: machineOk } as const;

export const machineOperations = {
  readMachine: defineOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}',
    summary: 'Read one machine with its state and configuration',
    source: 'wire-facts.md, section 2',
    tag,
    access,
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: machine },
    errors: ['unauthorized', 'not_found', ...fenced],
  }),
  suspendMachine: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/suspend',
    summary: 'Suspend a machine; the answer says that it was accepted, the freeze comes later',
    source: 'document 3, Machines API; wire-facts.md, section 2',
    tag,
    access,
    params: machineParams,
    answer: ok,
    errors: [
      'unauthorized',
      'not_found',
      'invalid_state',
      'other_host',
      'limit_reached',
      'not_eligible',
      'too_many_requests',
      ...fenced,
    ],
  }),
  waitMachine: defineOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/wait',
    summary: 'Wait until a machine has reached a state',
    source: 'document 3, Machines API; wire-facts.md, section 2',
    tag,
    access,
    params: machineParams,
    query: waitMachineRequest,
    answer: ok,
    errors: ['invalid_request', 'unauthorized', 'not_found', 'timeout', 'invalid_state', 'other_host', ...fenced],
  }),
  startMachine: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/start',
    summary: 'Start a machine; resumes from the snapshot when one is valid',
    source: 'document 3, Machines API; wire-facts.md, section 2',
    tag,
    access,
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: startMachineResponse },
    errors: [
      'unauthorized',
      'not_found',
      'invalid_state',
      'limit_reached',
      'other_host',
      'too_many_requests',
      ...fenced,
    ],
  }),
  stopMachine: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/stop',
    summary: 'Stop a machine; a snapshot is discarded',
    source: 'document 3, States and transitions; wire-facts.md, section 2',
    tag,
    access,
    params: machineParams,
    body: stopMachineRequest.optional(),
    answer: ok,
    errors: [
      'invalid_request',
      'unauthorized',
      'not_found',
      'invalid_state',
      'other_host',
      'too_many_requests',
      ...fenced,
    ],
  }),
  setMachineRole: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/metadata/role',
    summary: 'Record whether the database node of a machine is primary or replica',
    source: 'wire-facts.md, section 1',
    tag,
    access,
    params: machineParams,
    body: machineRoleRequest,
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request', 'unauthorized', 'not_found', ...fenced],
  }),
} as const;
