// What an access policy knows of a caller.
import type { SpriteIdentity } from '../../core/gateway/access-policy.ts';
import type { Principal } from '../tokens/principal.ts';

/** Null for the token of an organization: policies name sprites only, so none can allow its calls. */
export function toSpriteIdentity(principal: Principal): SpriteIdentity | null {
  return principal.type === 'sprite' ? { name: principal.sprite.name, labels: principal.sprite.labels } : null;
}
