// A short hash of everything that a sprite sees of the gateway: when it changes, the agent reads its connectors again. Pure.
import { createHash } from 'node:crypto';
import type { ConnectorRow } from '../connectors/records/connector-store.ts';
import type { SpriteRow } from '../sprites/sprite-store.ts';

/** A restart of the platform or a renewed credential does not change it: agents see no credential. */
export function toGatewayVersion(sprite: SpriteRow, connectors: readonly ConnectorRow[]): string {
  const seen = connectors.map((row) => [
    row.id,
    row.name,
    row.provider,
    row.provider_account_id,
    row.provider_account_name,
    row.base_api_url,
    row.access_policy,
    row.scopes,
  ]);
  const text = JSON.stringify([sprite.name, sprite.labels, seen]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
