// How much of the gateway one connector and one sprite may take, unless the operator says otherwise.
import type { CallLimit } from '../../core/call-limits.ts';

export interface GatewayLimits {
  readonly connector: CallLimit;
  readonly sprite: CallLimit;
  /** Of the body of one call; as the agent when absent, so that a sprite that may send more needs both. */
  readonly bodyCap_bytes?: number;
}

/** One sprite may not take all that a connector has; what a connector has is enough for several. */
export const defaultGatewayLimits: GatewayLimits = {
  connector: { perSecond: 2_000, inFlight: 1_024 },
  sprite: { perSecond: 1_000, inFlight: 512 },
};
