// The row that tells how much was called.
import type { gatewayUsageOperations } from '../../contract/gateway-usage.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import { checkOwnSprite, organizationOf, type Principal } from '../tokens/principal.ts';
import type { UsageStore } from './usage-store.ts';

const DEFAULT_DAYS_MS = 29 * 86_400_000;

export interface UsageHandlerDeps {
  readonly usage: Pick<UsageStore, 'list'>;
  readonly clock: Clock;
}

export function createUsageHandlers(deps: UsageHandlerDeps): Handlers<typeof gatewayUsageOperations, Principal> {
  return {
    async readGatewayUsage({ principal, query }) {
      const now_ms = deps.clock.wall_ms();
      const { since = toDay(now_ms - DEFAULT_DAYS_MS), until = toDay(now_ms), connector_id, sprite } = query;
      if (sprite !== undefined) checkOwnSprite(principal, ({ name }) => name === sprite);
      const usage = await deps.usage.list({
        organization_id: organizationOf(principal).id,
        since,
        until,
        connector_id,
        sprite: principal.type === 'sprite' ? principal.sprite.name : sprite,
      });
      return { usage: [...usage] };
    },
  };
}

function toDay(time_ms: number): string {
  return toDateTime(time_ms).slice(0, 10);
}
