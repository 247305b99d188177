// What the platform has its machines keep to: the network policies of sprites, and the policies of their programs.
import type { Clock } from '../core/clock.ts';
import type { PrepareChannel } from './channels/channel-preparation.ts';
import { createPolicyDelivery, type PolicyDelivery } from './network-policies/policy-delivery.ts';
import type { Stores } from './open-stores.ts';
import { createProgramPolicyDelivery, type ProgramPolicyDelivery } from './program-policies/program-policy-delivery.ts';

export interface PolicyParts {
  readonly policyDelivery: PolicyDelivery;
  readonly programPolicyDelivery: ProgramPolicyDelivery;
  /** Resolves when the machine keeps to all that is stored. Rejects where it does not. */
  readonly prepare: PrepareChannel;
}

export function openPolicies(
  { networkPolicies, programPolicies }: Pick<Stores, 'networkPolicies' | 'programPolicies'>,
  clock: Clock,
): PolicyParts {
  const policyDelivery = createPolicyDelivery(networkPolicies, clock);
  const programPolicyDelivery = createProgramPolicyDelivery(programPolicies, clock);
  return {
    policyDelivery,
    programPolicyDelivery,
    async prepare(channel, isRestricted) {
      await Promise.all([policyDelivery.check(channel, isRestricted), programPolicyDelivery.check(channel)]);
    },
  };
}
