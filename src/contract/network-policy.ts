// Which names a sprite may resolve (Sandbox API, Network policy records; the paths are those of the Sprites API).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { reachErrors } from './reach-errors.ts';
import { spriteParams } from './sprites.ts';

/**
 * Sandbox API, NetworkPolicyRule: all fields are optional in the record; a rule has either `include`, or both `action` and `domain`.
 * `domain` is a name, `*.` and a name, or `*`; `include` names a preset.
 */
export const networkPolicyRule = z.object({
  action: z.enum(['allow', 'deny']).optional(),
  domain: z.string().optional(),
  include: z.string().optional(),
});
export type NetworkPolicyRule = z.infer<typeof networkPolicyRule>;

/** Sandbox API, NetworkPolicyRequest. No rules = no restriction. */
export const networkPolicyRequest = z.object({ rules: z.array(networkPolicyRule).max(10_000) });
export type NetworkPolicyRequest = z.infer<typeof networkPolicyRequest>;

const tag = 'Network policy';
const source = 'Sandbox API, Network policy records; Sprites API';

export const networkPolicyOperations = {
  readNetworkPolicy: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/policy/network',
    summary: 'The network policy of a sprite',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'every',
    params: spriteParams,
    answer: { kind: 'json', status: 200, schema: networkPolicyRequest },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  setNetworkPolicy: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/policy/network',
    summary: 'Replace the network policy of a sprite',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: spriteParams,
    body: networkPolicyRequest,
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'conflict', ...reachErrors],
  }),
} as const;
