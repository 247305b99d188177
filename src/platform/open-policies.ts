// What the platform has its machines keep to: the network policies of sprites, and the policies of their programs.
import type { Clock } from '../core/clock.ts';
import type { ChannelSession } from './channels/channel-session.ts';
import { createPolicyDelivery, type PolicyDelivery } from './network-policies/policy-delivery.ts';
import type { Stores } from './open-stores.ts';
import { createProgramPolicyDelivery, type ProgramPolicyDelivery } from './program-policies/program-policy-delivery.ts';

export interface PolicyParts {
  readonly policyDelivery: PolicyDelivery;
  readonly programPolicyDelivery: ProgramPolicyDelivery;
  /** Resolves when the machine keeps to all that is stored. Rejects where it does not. */
  prepare(channel: ChannelSession): Promise<void>;
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
    async prepare(channel) {
      await Promise.all([policyDelivery.check(channel), programPolicyDelivery.check(channel)]);
    },
  };
}
