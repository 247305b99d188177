// Whether who began something long may go on with it: the token is not revoked, with its sprite or alone, and has not expired.
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Caller, CallerStore } from './caller-store.ts';

export interface RecheckDeps {
  readonly callers: CallerStore;
  readonly clock: Clock;
}

/** Who it is as of now. */
export type Recheck = (caller: Caller) => Promise<Caller>;

/** Throws `unauthorized`. */
export function createRecheck({ callers, clock }: RecheckDeps): Recheck {
  return async ({ token }) => {
    const now = await callers.again(token.id, clock.wall_ms());
    if (now === undefined) throw new RemoraError('unauthorized', 'the token is not valid any more');
    return now;
  };
}
