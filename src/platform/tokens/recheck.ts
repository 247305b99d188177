// Whether who began something long may go on with it: the token is not revoked, with its sprite or alone, and has not expired.
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Principal } from './principal.ts';
import type { TokenStore } from './token-store.ts';

export interface RecheckDeps {
  readonly tokens: TokenStore;
  readonly clock: Clock;
}

/** Throws `unauthorized`. */
export function createRecheck({ tokens, clock }: RecheckDeps): (principal: Principal) => void {
  return (principal) => {
    if (principal.type === 'anonymous' || tokens.isLive(principal.token.id, clock.wall_ms())) return;
    throw new RemoraError('unauthorized', 'the token is not valid any more');
  };
}
