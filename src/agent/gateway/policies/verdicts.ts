// The verdict on a call, by policies that are fetched again when they would refuse it.
import type { GatewayTarget } from '../../../core/gateway/gateway-target.ts';
import { judge, type Verdict } from './judge-call.ts';
import type { Policies } from './policies.ts';

export interface Verdicts {
  /** Throws `policy_unavailable` when there are no policies to judge by. */
  verdictOn(target: GatewayTarget): Promise<Verdict>;
  /**
   * The verdict by the policies of this moment, which differs from `verdict` only when they have changed since. Call it in the turn
   * in which the call becomes an open one: open calls are judged again at a change, and this one was not among them.
   */
  confirm(verdict: Verdict): Verdict;
}

export function createVerdicts(policies: Policies): Verdicts {
  return {
    async verdictOn(target) {
      if (target.type === 'reject') return target;
      const verdict = judge(await policies.usable(), target);
      // A connector or a rule that was made a moment ago is not among the known policies yet.
      if (verdict.type === 'allow' || !(await policies.freshen())) return verdict;
      return judge(await policies.usable(), target);
    },
    confirm(verdict) {
      const { snapshot } = policies;
      if (verdict.type !== 'allow' || snapshot === undefined || verdict.policies === snapshot) return verdict;
      return judge(snapshot, verdict.target);
    },
  };
}
