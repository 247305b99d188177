// What the agent serves of the network policy of its own sprite: the rules come over the channel, and everybody in the machine may see what
// holds.
import * as z from '../lazy-zod.ts';
import { networkExplanation, networkQuestion, networkRefusals } from '../network-explanations.ts';
import { networkPolicyRequest } from '../network-policy.ts';
import { defineLocalOperation } from '../operation.ts';

const source = 'Sandbox API, Network policy records; Remora';
const tag = 'Network policy';
const seen = ['socket', 'readonly', 'channel'] as const;
/** Why the process that enforces it does not answer. */
const unreachable = ['start_failed', 'upstream_failed', 'upstream_timeout'] as const;

/** `stored`: it is the policy of the sprite already, so that a machine that cannot enforce it starts no program any more. */
const delivery = networkPolicyRequest.extend({ stored: z.boolean().optional() });

export const ownNetworkOperations = {
  readNetworkPolicy: defineLocalOperation({
    method: 'GET',
    path: '/v1/policy/network',
    summary: 'The network policy that is enforced in this machine',
    source,
    tag,
    servedAt: seen,
    answer: { kind: 'json', status: 200, schema: networkPolicyRequest },
    errors: ['not_supported', ...unreachable],
  }),
  enforceNetworkPolicy: defineLocalOperation({
    method: 'PUT',
    path: '/v1/policy/network',
    summary: 'Enforce a network policy in this machine; it holds when the answer comes, and after each start',
    source,
    tag,
    servedAt: ['channel'],
    body: delivery,
    rawBody: { cap_bytes: 4 * 1024 * 1024 },
    answer: { kind: 'json', status: 200, schema: networkPolicyRequest },
    errors: ['invalid_request', 'not_supported', ...unreachable],
  }),
  explainNetworkPolicy: defineLocalOperation({
    method: 'POST',
    path: '/v1/policy/network/explain',
    summary: 'What the network policy would do with a connection, and why',
    source,
    tag,
    servedAt: seen,
    body: networkQuestion,
    answer: { kind: 'json', status: 200, schema: networkExplanation },
    errors: ['invalid_request', ...unreachable],
  }),
  listRefusedConnections: defineLocalOperation({
    method: 'GET',
    path: '/v1/policy/network/refused',
    summary: 'What the network policy has refused lately, the last one first',
    source,
    tag,
    servedAt: seen,
    answer: { kind: 'json', status: 200, schema: networkRefusals },
    errors: unreachable,
  }),
} as const;
