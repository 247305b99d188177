// A short hash of everything that a sprite sees of the gateway, and of the secrets of its app: when it changes, the agent reads them
// again. Pure.
import { createHash } from 'node:crypto';
import type { SpriteRow } from '../sprites/sprite-store.ts';

/**
 * `connectors`: the digest of those of its organization. `secrets`: the version of those of its app; undefined where it has none. A
 * restart of the platform does not change the version.
 */
export function toGatewayVersion(sprite: SpriteRow, connectors: string, secrets: string | undefined): string {
  const text = JSON.stringify([sprite.name, sprite.labels, connectors, ...(secrets === undefined ? [] : [secrets])]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
