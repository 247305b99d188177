// Ends what the callers of a token have open once it has been revoked or has expired, whatever operation they have called.
import { inBatches } from '../../core/in-batches.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { StayingCall } from '../../http/staying-calls.ts';
import { OPERATOR_TOKEN } from './authenticate-operator.ts';
import type { Caller } from './caller-store.ts';
import { isCaller, type Principal } from './principal.ts';
import type { RecheckToken } from './recheck-token.ts';

export interface EndCallersDeps {
  /** The calls that are open now. */
  readonly open: () => readonly StayingCall<Principal>[];
  readonly recheck: RecheckToken;
}

/**
 * Operations whose own part judges their open calls, by more than the token: the gateway by its policies, a channel by the incarnation of its
 * machine. A lane ends with its channel.
 */
export const judgedElsewhere: ReadonlySet<string> = new Set(['gateway', 'openChannel', 'openLane']);

interface OpenCall {
  readonly caller: Caller;
  readonly call: StayingCall<Principal>;
}

/** Returns the function that looks at all of them, once for each token. While the database cannot be asked, they stay. It never throws. */
export function createEndCallers({ open, recheck }: EndCallersDeps): () => Promise<void> {
  let looking: Promise<void> | undefined;

  async function judge(calls: readonly OpenCall[]): Promise<void> {
    const [first] = calls;
    if (first === undefined) return;
    try {
      await recheck(first.caller);
    } catch (error) {
      if (!(error instanceof RemoraError) || error.code !== 'unauthorized') return;
      for (const { call } of calls) call.cut(error);
    }
  }

  async function look(): Promise<void> {
    const calls = open().flatMap((call): OpenCall[] => {
      const { id, principal } = call;
      const hasToken = isCaller(principal) && principal.token.id !== OPERATOR_TOKEN.id;
      return hasToken && !judgedElsewhere.has(id) ? [{ caller: principal, call }] : [];
    });
    await inBatches([...Map.groupBy(calls, ({ caller }) => caller.token.id).values()], judge);
  }

  return () => {
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };
}
