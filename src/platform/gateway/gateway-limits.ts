// The limits of one connector and of one sprite at the gateway, unless the operator sets others.
import type { CallLimit } from '../../core/gateway/call-limits.ts';

export interface GatewayLimits {
  readonly connector: CallLimit;
  readonly sprite: CallLimit;
  /** The cap on the body of one call; the agent's default when absent. Larger bodies need both limits raised. */
  readonly bodyCap_bytes?: number;
  /** How long a caller may pause in the middle of its body; a minute when absent. */
  readonly bodyIdle_ms?: number;
}

/** The limits of a sprite are half of a connector's: one sprite cannot keep the others from a connector. */
export const defaultGatewayLimits: GatewayLimits = {
  connector: { perSecond: 2_000, inFlight: 1_024 },
  sprite: { perSecond: 1_000, inFlight: 512 },
};
