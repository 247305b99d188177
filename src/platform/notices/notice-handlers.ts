// The rows by which an agent reports ports and anybody of the organization reads them.
import type { portNoticeOperations } from '../../contract/port-notices.ts';
import type { Handlers } from '../../http/handler.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Principal } from '../tokens/principal.ts';
import type { NoticeStore } from './notice-store.ts';

export interface NoticeHandlerDeps {
  readonly notices: NoticeStore;
  readonly sprites: SpriteService;
}

export function createNoticeHandlers(deps: NoticeHandlerDeps): Handlers<typeof portNoticeOperations, Principal> {
  return {
    async postPortNotices({ principal, params, body }) {
      const { id } = await deps.sprites.findFor(principal, params.name);
      return { accepted: await deps.notices.append(id, body.notices) };
    },
    async listSpritePorts({ principal, params }) {
      const { id } = await deps.sprites.findFor(principal, params.name);
      return { ports: [...(await deps.notices.listOpen(id))] };
    },
  };
}
