// What a machine is told at its boot about the policies of its sprite: by their digests it knows whether its disk is older than they are.
import { digestProgramPolicy } from '../core/digest-program-policy.ts';
import { digestRules } from '../core/network-policy/digest-rules.ts';
import { NETWORK_RULES_VARIABLE } from '../core/network-wire.ts';
import { isEmptyPolicy, noProgramPolicy } from '../core/program-policy.ts';
import { PROGRAM_POLICY_VARIABLE } from '../core/supervisor-wire.ts';
import type { Stores } from './open-stores.ts';

/** The variables by their names; none for a policy that restricts nothing. */
export async function toPolicyVariables(
  { networkPolicies, programPolicies }: Pick<Stores, 'networkPolicies' | 'programPolicies'>,
  sprite_id: string,
): Promise<Readonly<Record<string, string>>> {
  const { rules = [] } = (await networkPolicies.find(sprite_id)) ?? {};
  const { policy = noProgramPolicy } = (await programPolicies.find(sprite_id)) ?? {};
  return {
    ...(rules.length === 0 ? {} : { [NETWORK_RULES_VARIABLE]: digestRules(rules) }),
    ...(isEmptyPolicy(policy) ? {} : { [PROGRAM_POLICY_VARIABLE]: digestProgramPolicy(policy) }),
  };
}
