// What the platform has its machines keep to: the network policies of sprites, and the policies of their programs.
import type { Clock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import type { RemoraError } from '../core/remora-error.ts';
import type { Changes } from './changes.ts';
import type { PrepareChannel } from './channels/channel-preparation.ts';
import { createRefusalRecorder } from './machines/refusal-recorder.ts';
import { createPolicyDelivery, type PolicyDelivery } from './network-policies/policy-delivery.ts';
import type { Stores } from './open-stores.ts';
import { createProgramPolicyDelivery, type ProgramPolicyDelivery } from './program-policies/program-policy-delivery.ts';

export interface PolicyParts {
  readonly policyDelivery: PolicyDelivery;
  readonly programPolicyDelivery: ProgramPolicyDelivery;
  /** Resolves when the machine keeps to all that is stored. Rejects where it does not. */
  readonly prepare: PrepareChannel;
  /** Records that it does not. */
  readonly onRefused: (machine_id: string, refusal: RemoraError) => void;
}

export function openPolicies(
  { storage, networkPolicies, programPolicies }: Pick<Stores, 'storage' | 'networkPolicies' | 'programPolicies'>,
  changes: Changes,
  clock: Clock,
  log: Log,
): PolicyParts {
  const policyDelivery = createPolicyDelivery(networkPolicies, clock);
  const programPolicyDelivery = createProgramPolicyDelivery(programPolicies, clock);
  return {
    policyDelivery,
    programPolicyDelivery,
    onRefused: createRefusalRecorder({ storage, changes, clock, log }),
    async prepare(channel, restricted) {
      // Side by side: the supervisor of a machine whose disk is older than its network policy answers once that has come.
      await Promise.all([
        policyDelivery.check(channel, restricted.network),
        programPolicyDelivery.check(channel, restricted.programs),
      ]);
    },
  };
}
