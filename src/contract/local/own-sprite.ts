// What the agent serves of its own sprite and the platform carries out: checkpoints and policies, with `/v1` in place of
// `/v1/sprites/{name}`. Which policies hold in this machine the agent says itself.
import { checkpointOperations } from '../checkpoints.ts';
import type { ErrorCode } from '../errors.ts';
import { networkPolicyOperations } from '../network-policy.ts';
import { spritePolicyOperations } from '../sprite-policies.ts';
import { toLocalForms } from './local-form.ts';

/** Why the agent cannot pass a call on to its platform. */
const ofAgent = ['upstream_failed', 'upstream_timeout', 'not_configured'] as const;

const { readNetworkPolicy: _, ...setNetworkPolicy } = networkPolicyOperations;
const { readPrivilegesPolicy: __, readResourcesPolicy: ___, ...setSpritePolicies } = spritePolicyOperations;

export const ownSpriteOperations = toLocalForms(
  { ...checkpointOperations, ...setNetworkPolicy, ...setSpritePolicies },
  { servedAt: ['socket'], toErrors: (errors: readonly ErrorCode[]) => [...new Set([...errors, ...ofAgent])] },
);
