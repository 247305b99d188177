// The verdict on a call, by policies that are fetched again when they would refuse it.
import type { GatewayTarget } from '../../../core/gateway/gateway-target.ts';
import { judge, type Verdict } from './judge-call.ts';
import type { Policies } from './policies.ts';

export interface Verdicts {
  /** Throws `policy_unavailable` when there are no policies to judge by. */
  verdictOn(target: GatewayTarget): Promise<Verdict>;
}

/** `policies` throws when the gateway is off. */
export function createVerdicts(policies: () => Policies): Verdicts {
  return {
    async verdictOn(target) {
      if (target.type === 'reject') return target;
      const verdict = judge(await policies().usable(), target);
      // A connector or a rule that was made a moment ago is not in the cache yet.
      if (verdict.type === 'allow' || !(await policies().freshen())) return verdict;
      return judge(await policies().usable(), target);
    },
  };
}
