// The operations with which an agent sends port notices and callers of the organization read the open ports.
import type { portNoticeOperations } from '../../contract/port-notices.ts';
import type { Handlers } from '../../http/handler.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { Principal } from '../tokens/principal.ts';
import type { NoticeStore } from './port-notice-store.ts';

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
