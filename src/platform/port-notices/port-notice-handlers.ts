// The operations with which an agent sends port notices and callers of the organization read the open ports.
import type { portNoticeOperations } from '../../contract/port-notices.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { RecheckToken } from '../tokens/recheck-token.ts';
import type { NoticeStore } from './port-notice-store.ts';
import type { PortWatches } from './port-watches.ts';

export interface NoticeHandlerDeps {
  readonly notices: NoticeStore;
  readonly watches: Pick<PortWatches, 'follow' | 'look'>;
  readonly recheck: RecheckToken;
  /** Throws for a sprite that the caller may not use. */
  readonly findSprite: (principal: Principal, name: string) => Promise<{ readonly id: string }>;
}

export function createNoticeHandlers(deps: NoticeHandlerDeps): Handlers<typeof portNoticeOperations, Principal> {
  return {
    async postPortNotices({ principal, params, body }) {
      const { id } = await deps.findSprite(principal, params.name);
      const accepted = await deps.notices.append(id, body.notices);
      deps.watches.look(id);
      return { accepted };
    },
    async listSpritePorts({ principal, params }) {
      const { id } = await deps.findSprite(principal, params.name);
      return { ports: [...(await deps.notices.listOpen(id))] };
    },
    async watchSpritePorts({ principal, params }, sink) {
      const { id } = await deps.findSprite(principal, params.name);
      const recheck = async () => {
        if (isCaller(principal)) await deps.recheck(principal);
        const now = await deps.findSprite(principal, params.name);
        if (now.id !== id) throw new RemoraError('not_found', 'the sprite is gone');
      };
      await deps.watches.follow(id, { sink, recheck });
    },
  };
}
