// What the agent serves of its own sprite and the platform carries out: checkpoints and policies, with `/v1` in place of
// `/v1/sprites/{name}`. Which network policy holds in this machine the agent says itself.
import { checkpointOperations } from '../checkpoints.ts';
import type { ErrorCode } from '../errors.ts';
import { networkPolicyOperations } from '../network-policy.ts';
import { spritePolicyOperations } from '../sprite-policies.ts';
import { toLocalForms } from './local-form.ts';

/** Why the agent cannot pass a call on to its platform. */
const ofAgent = ['upstream_failed', 'upstream_timeout', 'not_configured'] as const;

const { readNetworkPolicy: _, ...setNetworkPolicy } = networkPolicyOperations;

export const ownSpriteOperations = toLocalForms(
  { ...checkpointOperations, ...setNetworkPolicy, ...spritePolicyOperations },
  { servedAt: ['socket'], toErrors: (errors: readonly ErrorCode[]) => [...new Set([...errors, ...ofAgent])] },
);
