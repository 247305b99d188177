// Whether who began something long may go on with it: the token is not revoked and has not expired, the sprite is still there.
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { Principal } from './principal.ts';
import type { TokenStore } from './token-store.ts';

export interface RecheckDeps {
  readonly tokens: TokenStore;
  readonly sprites: SpriteStore;
  readonly clock: Clock;
}

/** Returns the caller as it is now, with the labels of today. Throws `unauthorized`. */
export function createRecheck({ tokens, sprites, clock }: RecheckDeps): (principal: Principal) => Principal {
  return (principal) => {
    if (principal.type === 'anonymous') return principal;
    const sprite = principal.type === 'sprite' ? sprites.find(principal.sprite.id) : undefined;
    if (!tokens.isLive(principal.token.id, clock.wall_ms()) || (principal.type === 'sprite' && sprite === undefined)) {
      throw new RemoraError('unauthorized', 'the token is not valid any more');
    }
    return principal.type === 'sprite' && sprite !== undefined ? { ...principal, sprite } : principal;
  };
}
