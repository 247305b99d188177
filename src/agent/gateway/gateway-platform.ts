// The platform that the gateway talks to, and the sprite that it speaks for. Without one of these settings the gateway is off.
import type { Secret } from '../../core/secret.ts';
import type { GatewayConfig } from './gateway-options.ts';

export interface GatewayPlatform {
  readonly baseUrl: string;
  readonly token: Secret;
  readonly sprite: string;
}

type Settings = Pick<GatewayConfig, 'baseUrl' | 'token' | 'sprite'>;

/** Undefined when a setting is missing. */
export function toGatewayPlatform({ baseUrl, token, sprite }: Settings): GatewayPlatform | undefined {
  if (baseUrl === undefined || token === undefined || sprite === undefined) return undefined;
  return { baseUrl, token, sprite };
}

/** Why the gateway is off: names the settings that are missing. */
export function whyOff({ baseUrl, token, sprite }: Settings): string {
  const settings = { REMORA_BASE_URL: baseUrl, 'REMORA_TOKEN or REMORA_TOKEN_FILE': token, REMORA_SPRITE: sprite };
  const missing = Object.entries(settings).flatMap(([name, value]) => (value === undefined ? [name] : []));
  return `there is no ${missing.join(' and ')}`;
}
