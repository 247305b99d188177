// What the programs of this sprite may do and use in its machine: it comes over the channel, the supervisor keeps to it, and everybody in the
// machine may see what holds.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { privilegesPolicy, resourcesPolicy } from '../sprite-policies.ts';

/** Both policies; an empty one restricts nothing. */
export const programPolicy = z.object({ privileges: privilegesPolicy, resources: resourcesPolicy });
export type ProgramPolicy = z.infer<typeof programPolicy>;

const tag = 'Policies';
const seen = { source: 'Sprites API', tag, servedAt: ['socket', 'readonly'] } as const;
const given = { source: 'Remora', tag, servedAt: ['channel'] } as const;
const refusals = ['invalid_request', 'not_supported'] as const;

export const ownProgramPolicyOperations = {
  readPrivilegesPolicy: defineLocalOperation({
    ...seen,
    method: 'GET',
    path: '/v1/policy/privileges',
    summary: 'What the programs of this sprite may do; empty while nothing is restricted',
    answer: { kind: 'json', status: 200, schema: privilegesPolicy },
    errors: [],
  }),
  readResourcesPolicy: defineLocalOperation({
    ...seen,
    method: 'GET',
    path: '/v1/policy/resources',
    summary: 'The memory that the programs of this sprite get; empty while nothing is limited',
    answer: { kind: 'json', status: 200, schema: resourcesPolicy },
    errors: [],
  }),
  readProgramPolicy: defineLocalOperation({
    ...given,
    method: 'GET',
    path: '/v1/policy/programs',
    summary: 'What holds for the programs of this machine',
    answer: { kind: 'json', status: 200, schema: programPolicy },
    errors: ['not_ready'],
  }),
  enforceProgramPolicy: defineLocalOperation({
    ...given,
    method: 'PUT',
    path: '/v1/policy/programs',
    summary:
      'Restrict the programs of this machine; it holds for those that start once the answer has come, and after each start',
    body: programPolicy,
    answer: { kind: 'json', status: 200, schema: programPolicy },
    errors: [...refusals, 'start_failed', 'upstream_failed', 'upstream_timeout'],
  }),
} as const;

/** Served at the supervisor's own socket only, which nobody but the agent can open. */
export const supervisorPolicyOperations = {
  setProgramPolicy: defineLocalOperation({
    method: 'PUT',
    path: '/v1/program-policy',
    summary: 'What holds for programs that are started from now on',
    source: 'Remora',
    tag,
    servedAt: ['socket'],
    body: programPolicy,
    answer: { kind: 'json', status: 200, schema: programPolicy },
    errors: refusals,
  }),
} as const;
