// Judges the open calls again after a change of policy, and ends those that are no longer allowed. Each turn of the event loop
// judges a few of them, because a long path takes milliseconds and everything else waits meanwhile.
import { toRefusal } from './forwarder.ts';
import type { OpenCall, OpenCalls } from './open-calls.ts';
import { judge, mayUse } from './policies/judge-call.ts';
import type { PolicySnapshot } from './policies/policy-snapshot.ts';

/** How many calls a turn judges at most, and after which time it judges no further one. */
export const TURN_CALLS = 128;
const TURN_MS = 5;

export interface RecheckOptions {
  readonly openCalls: Pick<OpenCalls, 'list' | 'has' | 'end'>;
  readonly now_ms: () => number;
  /** Called in each turn that judges calls. */
  readonly onTurn?: (() => void) | undefined;
}

export interface Recheck extends Disposable {
  /**
   * Judges every open call by these policies: those whose connector this sprite may not use any more first, then those that
   * earlier policies had not reached. A few are judged before it returns, unless this turn has judged some already.
   */
  begin(snapshot: PolicySnapshot): void;
}

export function createRecheck({ openCalls, now_ms, onTurn }: RecheckOptions): Recheck {
  let policies: PolicySnapshot | undefined;
  /** The calls that `policies` have not judged yet. The last one is next. */
  let due: OpenCall[] = [];
  let turn: NodeJS.Immediate | undefined;

  function judgeSome(): void {
    turn = setImmediate(onNextTurn);
    onTurn?.();
    const end_ms = now_ms() + TURN_MS;
    for (let judged = 0; judged < TURN_CALLS && due.length > 0; judged += 1) {
      judgeNext();
      if (now_ms() >= end_ms) return;
    }
  }

  function onNextTurn(): void {
    turn = undefined;
    if (due.length > 0) judgeSome();
  }

  function judgeNext(): void {
    const call = due.pop();
    if (call === undefined || policies === undefined || !openCalls.has(call)) return;
    const verdict = judge(policies, call.target);
    if (verdict.type !== 'allow') openCalls.end(call, toRefusal(verdict));
  }

  return {
    begin(snapshot) {
      policies = snapshot;
      const open = Object.groupBy(openCalls.list(), ({ target }) => (mayUse(snapshot, target) ? 'kept' : 'revoked'));
      const kept = new Set(open.kept);
      const left = due.filter((call) => kept.delete(call));
      due = [...kept, ...left, ...(open.revoked ?? [])];
      if (turn === undefined && due.length > 0) judgeSome();
    },
    [Symbol.dispose]() {
      due = [];
      clearImmediate(turn);
    },
  };
}
