// What a sprite sees of the gateway as one short text: another text means that its agent must read again. Pure.
import { createHash } from 'node:crypto';
import type { ConnectorRow } from '../connectors/connector-store.ts';
import type { SpriteRow } from '../sprites/sprite-store.ts';

/** The same after a restart of the platform. A renewed credential is no change: no agent ever sees one. */
export function toGatewayVersion(sprite: SpriteRow, connectors: readonly ConnectorRow[]): string {
  const seen = connectors.map((row) => [
    row.id,
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
