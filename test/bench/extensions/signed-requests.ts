// The requests of the benchmark, signed beforehand.
import { randomBytes } from 'node:crypto';
import { Secret } from '../../../src/core/secret.ts';
import { signContent } from '../../../src/core/signature.ts';
import { toBytes } from './signed-load.ts';

/** Known to the provider of the benchmark. */
export const SECRET = 'of-the-benchmark';
export const BASE_URL = 'http://provider.bench/base';
const EVENTS = '/extensions/events';

/** Machine events, as the platform sends them to a provider. */
export function toEvents(count: number): Buffer[] {
  const secret = new Secret(SECRET);
  return Array.from({ length: count }, (_, index) => {
    const nonce = randomBytes(18).toString('base64url');
    const data = { Transition: { from: 'starting', to: 'running', trigger: 'started' } };
    const signed = { url: BASE_URL + EVENTS, nonce, timestamp: Math.floor(Date.now() / 1_000) };
    const body = JSON.stringify({ machine_id: '5fabf0c3ab28d4', status: 'running', data, ...signed });
    const headers = {
      'ce-specversion': '1.0',
      'ce-id': `5fabf0c3ab28d4-${index}`,
      'ce-source': '/v1/apps/kv/machines/5fabf0c3ab28d4',
      'ce-type': 'io.remora.machine.running',
      'ce-time': new Date().toISOString(),
      'x-signature': signContent(secret, body),
    };
    return toBytes({ target: `/base${EVENTS}`, headers, body });
  });
}

/** Webhooks, as a provider sends them to the platform: each about another one of `resources` resources, with another status. */
export function toWebhooks(
  provider: string,
  secret: Secret,
  resources: number,
  count: number,
  round: number,
): Buffer[] {
  return Array.from({ length: count }, (_, index) => {
    const resource = { id: `p_${index % resources}`, status: `ready-${round}-${index}`, plan: 'small' };
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const body = JSON.stringify({ timestamp, action: 'resource.updated', resource });
    return toBytes({
      target: `/api/hooks/extensions/${provider}`,
      headers: { 'x-signature': signContent(secret, body) },
      body,
    });
  });
}
