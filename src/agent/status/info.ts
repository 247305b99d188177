// Says who this sprite is. The platform has told the gateway; right after the start its answer is waited for.
import type { infoOperations } from '../../contract/local/info.ts';
import { withDeadline } from '../../core/with-deadline.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Gateway } from '../gateway/gateway.ts';

export interface InfoOptions {
  readonly version: string;
  readonly config: { readonly sprite: string | undefined };
  readonly gateway: Pick<Gateway, 'ownSprite'>;
}

const WAIT_MS = 2_000;

export function createInfo({ version, config, gateway }: InfoOptions): Handlers<typeof infoOperations, unknown> {
  return {
    async info() {
      const sprite = await withDeadline(WAIT_MS, gateway.ownSprite()).catch(() => undefined);
      return {
        sprite_id: sprite?.id ?? null,
        sprite_name: config.sprite ?? null,
        sprite_url: sprite?.url ?? null,
        version,
        org: sprite?.organization ?? null,
      };
    },
  };
}
