// Checks during a long call that its token is still good: not expired, not revoked, and its sprite not deleted.
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Caller, CallerStore } from './caller-store.ts';

export interface RecheckTokenDeps {
  readonly callers: CallerStore;
  readonly clock: Clock;
}

/** Resolves with the present record of the caller. */
export type RecheckToken = (caller: Caller) => Promise<Caller>;

/** Throws `unauthorized`. */
export function createRecheckToken({ callers, clock }: RecheckTokenDeps): RecheckToken {
  return async ({ token }) => {
    const now = await callers.again(token.id, clock.wall_ms());
    if (now === undefined) throw new RemoraError('unauthorized', 'the token is not valid any more');
    return now;
  };
}
