// This machine, seen from inside: who it is, whether it may be suspended, and suspending it (design.md, section 3).
import { z } from 'zod';
import { machineOk, machineParams, startMachineResponse, stopMachineRequest, waitMachineRequest } from '../machines.ts';
import { defineOperation } from '../operation.ts';
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

/** The last time a suspend was asked for, and how it went. */
export const lastSuspend = z.object({
  at: dateTime,
  outcome: z.enum(['asking', 'accepted', 'refused', 'unknown', 'interrupted', 'resumed']),
  message: z.string().optional(),
});

/** The last resume that was noticed (resume.md, section 3). */
export const lastResume = z.object({
  at: dateTime,
  gap_ms: z.number().nullable(),
  wall_skew_ms: z.number().nullable(),
  signals: z.array(z.string()),
  cause: z.string(),
  certainty: z.string(),
  generation: z.int(),
});

export const machineReport = z.object({
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
  machine: defineOperation({
    method: 'GET',
    path: '/v1/machine',
    summary: 'Identity, eligibility for suspend with every reason, the last suspend and the last resume',
    source: 'design.md, section 3; document 3, Suspend eligibility',
    tag: 'machine',
    answer: { kind: 'json', status: 200, schema: machineReport },
    errors: [],
  }),
  suspendMe: defineOperation({
    method: 'POST',
    path: '/v1/machine/suspend',
    summary: 'Suspend this machine; 200 means accepted, the freeze follows within seconds',
    source: 'design.md, section 3',
    tag: 'machine',
    query: suspendRequest,
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: suspendErrors,
  }),
  suspendThis: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/suspend',
    summary: 'The same, at the path of the machines API; no token is needed',
    source: 'document 3, Machines API; Authentication, 2',
    tag: 'machine',
    params: machineParams,
    query: suspendRequest,
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: ['not_this_machine', ...suspendErrors],
  }),
  waitThis: defineOperation({
    method: 'GET',
    path: '/v1/apps/{app_name}/machines/{machine_id}/wait',
    summary: 'Wait until this machine is in a state; passed to the machines API',
    source: 'document 3, Machines API; wire-facts.md, section 2',
    tag: 'machine',
    params: machineParams,
    query: waitMachineRequest,
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: ['timeout', ...passedErrors],
  }),
  startThis: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/start',
    summary: 'Start this machine; passed to the machines API',
    source: 'document 3, Machines API',
    tag: 'machine',
    params: machineParams,
    answer: { kind: 'json', status: 200, schema: startMachineResponse },
    errors: passedErrors,
  }),
  stopThis: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/stop',
    summary: 'Stop this machine; passed to the machines API',
    source: 'design.md, section 3; wire-facts.md, section 2',
    tag: 'machine',
    params: machineParams,
    body: stopMachineRequest.optional(),
    answer: { kind: 'json', status: 200, schema: machineOk },
    errors: passedErrors,
  }),
} as const;
