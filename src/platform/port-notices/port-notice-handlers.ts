// The operations with which an agent sends port notices and callers of the organization read the open ports.
import type { portNoticeOperations } from '../../contract/port-notices.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import type { NoticeStore } from './port-notice-store.ts';

export interface NoticeHandlerDeps {
  readonly notices: NoticeStore;
  /** Throws for a sprite that the caller may not use. */
  readonly findSprite: (principal: Principal, name: string) => Promise<{ readonly id: string }>;
}

export function createNoticeHandlers(deps: NoticeHandlerDeps): Handlers<typeof portNoticeOperations, Principal> {
  return {
    async postPortNotices({ principal, params, body }) {
      const { id } = await deps.findSprite(principal, params.name);
      return { accepted: await deps.notices.append(id, body.notices) };
    },
    async listSpritePorts({ principal, params }) {
      const { id } = await deps.findSprite(principal, params.name);
      return { ports: [...(await deps.notices.listOpen(id))] };
    },
  };
}
