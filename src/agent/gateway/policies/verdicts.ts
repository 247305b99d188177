// The verdict on a call, by policies that are fetched again when they would refuse it.
import type { GatewayTarget } from '../../../core/gateway/gateway-target.ts';
import { judge, type Target, type Verdict } from './judge-call.ts';
import type { Policies } from './policies.ts';
import type { PolicySnapshot } from './policy-snapshot.ts';

export interface Verdicts {
  /**
   * The verdict on a call that is allowed comes at once, unless the policies are too old. Rejects with `policy_unavailable` when
   * there are none to judge by.
   */
  verdictOn(target: GatewayTarget): Verdict | Promise<Verdict>;
  /**
   * The verdict by the policies of this moment, which differs from `verdict` only when they have changed since. Call it in the turn
   * in which the call becomes an open one: open calls are judged again at a change, and this one was not among them.
   */
  confirm(verdict: Verdict): Verdict;
}

export function createVerdicts(policies: Policies): Verdicts {
  /** A connector or a rule that was made a moment ago is not among the policies that refused the call. */
  async function judgeAgain(refusal: Verdict, target: Target): Promise<Verdict> {
    return (await policies.freshen()) ? judge(await policies.usable(), target) : refusal;
  }

  function judgeBy(snapshot: PolicySnapshot, target: Target): Verdict | Promise<Verdict> {
    const verdict = judge(snapshot, target);
    return verdict.type === 'allow' ? verdict : judgeAgain(verdict, target);
  }

  return {
    verdictOn(target) {
      if (target.type === 'reject') return target;
      const usable = policies.usable();
      if (usable instanceof Promise) return usable.then((snapshot) => judgeBy(snapshot, target));
      return judgeBy(usable, target);
    },
    confirm(verdict) {
      const { snapshot } = policies;
      if (verdict.type !== 'allow' || snapshot === undefined || verdict.policies === snapshot) return verdict;
      return judge(snapshot, verdict.target);
    },
  };
}
