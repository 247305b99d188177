// This machine, seen from inside: its identity, whether it may be suspended, and suspending it.
import * as z from '../lazy-zod.ts';
import { machineOk, machineParams, startMachineResponse, stopMachineRequest, waitMachineRequest } from '../machines.ts';
import { defineLocalOperation } from '../operation.ts';
import { dateTime } from '../time.ts';

export const suspendState = z.enum(['awake', 'preparing', 'fenced', 'resuming']);

export const eligibilityCondition = z.object({
  condition: z.enum(['memory', 'swap', 'schedule', 'last_update']),
  verdict: z.enum(['ok', 'fails', 'unknown']),
  message: z.string(),
});

export const eligibility = z.object({
  eligible: z.boolean(),
  conditions: z.array(eligibilityCondition),
});

/** The last time that a suspend was asked for, and how it ended. */
export const lastSuspend = z.object({
  at: dateTime,
  outcome: z.enum(['asking', 'accepted', 'refused', 'unknown', 'interrupted', 'resumed']),
  message: z.string().optional(),
});

/** The last resume that the agent noticed. */
export const lastResume = z.object({
  at: dateTime,
  gap_ms: z.number().nullable(),
  wall_skew_ms: z.number().nullable(),
  signals: z.array(z.string()),
  cause: z.string(),
  certainty: z.string(),
  generation: z.int(),
});

export const localMachine = z.object({
  app: z.string().nullable(),
  id: z.string().nullable(),
  sprite: z.string().nullable(),
  state: suspendState,
  generation: z.int(),
  eligibility,
  last_suspend: lastSuspend.nullable(),
  last_resume: lastResume.nullable(),
});

const suspendRequest = z.object({ force: z.stringbool().default(false) });
const suspendErrors = [
  'conflict',
  'held',
  'not_eligible',
  'not_configured',
  'upstream_failed',
  'upstream_refused',
  'upstream_timeout',
] as const;
const passedErrors = [
  'not_this_machine',
  'not_configured',
  'upstream_failed',
  'upstream_refused',
  'upstream_timeout',
] as const;

export const machineOperations = {
  machine: defineLocalOperation({
    method: 'GET',
    path: '/v1/machine',
    summary: 'Identity, eligibility for suspend with every reason, the last suspend and the last resume',
    source: 'Remora; Suspend and Replication, Suspend eligibility',
    tag: 'machine',
    servedAt: ['socket'],
    answer: { kind: 'json', status: 200, schema: localMachine },
    errors: [],
  }),
  suspendMe: defineLocalOperation({
    method: 'POST',
    path: '/v1/machine/suspend',
    summary: 'Suspend this machine; 200 means accepted, the freeze follows within seconds',
    source: 'Remora',
    tag: 'machine',
    servedAt: ['socket'],
    query: suspendRequest,
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: suspendErrors,
  }),
  suspendThis: defineLocalOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/suspend',
    summary: 'The same, at the path of the machines API; no token is needed',
    source: 'Suspend and Replication, Machines API; Suspend and Replication, Authentication',
    tag: 'machine',
    servedAt: ['socket'],
    params: machineParams,
    query: suspendRequest,
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: ['not_this_machine', ...suspendErrors],
  }),
  waitThis: defineLocalOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/wait',
    summary: 'Wait until this machine is in a state; passed to the machines API',
    source: 'Suspend and Replication, Machines API; Fly Machines API',
    tag: 'machine',
    servedAt: ['socket'],
    params: machineParams,
    query: waitMachineRequest,
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: ['timeout', ...passedErrors],
  }),
  startThis: defineLocalOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/start',
    summary: 'Start this machine; passed to the machines API',
    source: 'Suspend and Replication, Machines API',
    tag: 'machine',
    servedAt: ['socket'],
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: startMachineResponse },
    errors: passedErrors,
  }),
  stopThis: defineLocalOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/stop',
    summary: 'Stop this machine; passed to the machines API',
    source: 'Fly Machines API',
    tag: 'machine',
    servedAt: ['socket'],
    params: machineParams,
    body: stopMachineRequest.optional(),
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: passedErrors,
  }),
} as const;
