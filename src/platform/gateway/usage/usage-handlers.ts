// The operation that lists the usage of the gateway.
import type { gatewayUsageOperations } from '../../../contract/gateway-usage.ts';
import type { Clock } from '../../../core/clock.ts';
import type { Handlers } from '../../../http/handler.ts';
import { checkOwnSprite, organizationOf, type Principal, spriteOf } from '../../tokens/principal.ts';
import { toUsageDays } from './usage-days.ts';
import type { UsageStore } from './usage-store.ts';

export interface UsageHandlerDeps {
  readonly usage: Pick<UsageStore, 'list'>;
  readonly clock: Clock;
}

export function createUsageHandlers(deps: UsageHandlerDeps): Handlers<typeof gatewayUsageOperations, Principal> {
  return {
    async readGatewayUsage({ principal, query }) {
      const { connector_id, sprite, ...days } = query;
      if (sprite !== undefined) checkOwnSprite(principal, ({ name }) => name === sprite);
      const usage = await deps.usage.list({
        organization_id: organizationOf(principal).id,
        ...toUsageDays(days, deps.clock.wall_ms()),
        connector_id,
        sprite: spriteOf(principal)?.name ?? sprite,
      });
      return { usage: [...usage] };
    },
  };
}
