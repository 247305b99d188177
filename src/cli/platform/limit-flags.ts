// The flags of `remora platform` for the limits of one token, one connector, one sprite and one organization. Pure.
import { parseDuration } from '../../contract/duration.ts';
import { defaultGatewayLimits } from '../../platform/gateway/gateway-limits.ts';
import type { PlatformOptions } from '../../platform/platform-options.ts';
import type { Invocation } from '../command.ts';
import { UsageError } from '../exit-code.ts';
import { parseWhole } from '../number-flag.ts';

const LIMIT_MAX = 1_000_000;
const BODY_MAX_BYTES = 2 ** 40;
/** The burst that a rate allows, in seconds of that rate: programs begin with many calls at once. */
const BURST_S = 5;
const IDLE_MAX_MS = 24 * 3_600_000;

/** Limits that are not given keep the platform's defaults. Throws UsageError. */
export function readLimitFlags(
  text: Invocation['text'],
): Pick<PlatformOptions, 'gatewayLimits' | 'callRate' | 'creationLimit' | 'websocketIdle_ms'> {
  const limitOf = (user: 'connector' | 'sprite') => {
    const { perSecond, inFlight } = defaultGatewayLimits[user];
    const whole = (flag: string, otherwise: number) => parseWhole(flag, text(flag), otherwise, 1, LIMIT_MAX);
    return { perSecond: whole(`${user}-rate`, perSecond), inFlight: whole(`${user}-in-flight`, inFlight) };
  };
  const rate = text('token-rate');
  const perSecond = parseWhole('token-rate', rate, 1, 1, LIMIT_MAX);
  const creation = text('creation-limit');
  const idle = text('websocket-idle');
  const body = text('body-limit');
  const bodyCap = body === undefined ? {} : { bodyCap_bytes: parseWhole('body-limit', body, 1, 1, BODY_MAX_BYTES) };
  return {
    gatewayLimits: { connector: limitOf('connector'), sprite: limitOf('sprite'), ...bodyCap },
    ...(rate === undefined ? {} : { callRate: { perSecond, burst: perSecond * BURST_S } }),
    ...(creation === undefined ? {} : { creationLimit: parseWhole('creation-limit', creation, 0, 0, LIMIT_MAX) }),
    ...(idle === undefined ? {} : { websocketIdle_ms: parseIdle(idle) }),
  };
}

function parseIdle(given: string): number {
  const idle_ms = parseDuration(given);
  if (idle_ms !== undefined && idle_ms <= IDLE_MAX_MS) return idle_ms;
  throw new UsageError(`--websocket-idle takes a time up to 24h such as 10m, or 0s for ever, not ${given}`);
}
