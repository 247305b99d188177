// A short hash of everything that a sprite sees of the gateway: when it changes, the agent reads its connectors again. Pure.
import { createHash } from 'node:crypto';
import type { SpriteRow } from '../sprites/sprite-store.ts';

/** `connectors`: the digest of those of its organization. A restart of the platform does not change the version. */
export function toGatewayVersion(sprite: SpriteRow, connectors: string): string {
  const text = JSON.stringify([sprite.name, sprite.labels, connectors]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
