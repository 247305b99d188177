// The operation that streams the states of sprites.
import type { spriteWatchOperations } from '../../../contract/sprite-watch.ts';
import type { Handlers } from '../../../http/handler.ts';
import { isCaller, type Principal } from '../../tokens/principal.ts';
import { createSpriteWatch, type SpriteWatchDeps } from './sprite-watch.ts';

export function createSpriteWatchHandlers(deps: SpriteWatchDeps): Handlers<typeof spriteWatchOperations, Principal> {
  const watch = createSpriteWatch(deps);
  return {
    async watchSprites({ principal, query }, sink) {
      if (isCaller(principal)) await watch.follow(principal, query, sink);
    },
  };
}
