// Extensions in memory, for a provider of one process that may forget them at its end, such as one in a test.
import type { Claim, Found, KnownResource, ResourceBook } from './resource-book.ts';

interface Gone {
  readonly resource_id: string;
  readonly at_ms: number;
}

export function createMemoryResources(): ResourceBook {
  const claims = new Map<string, Claim>();
  const known = new Map<string, KnownResource>();
  const gone = new Map<string, Gone>();
  /** Ids of the platform by those of the provider, of known and gone ones. */
  const extensions = new Map<string, string>();
  const read = (extension_id: string): Found =>
    known.get(extension_id) ?? (gone.has(extension_id) ? 'gone' : undefined);

  return {
    claim(claim) {
      const { now_ms, until_ms, holder } = claim;
      const held = claims.get(claim.extension_id);
      const isHeld = held !== undefined && held.until_ms > now_ms && held.until_ms <= 2 * until_ms - now_ms;
      if (isHeld && held.holder !== holder) return false;
      claims.set(claim.extension_id, claim);
      return true;
    },
    release({ extension_id, holder }) {
      if (claims.get(extension_id)?.holder === holder) claims.delete(extension_id);
    },
    read,
    find: (id) => read(extensions.get(id) ?? id),
    write(resource) {
      const before = known.get(resource.extension_id);
      if (before !== undefined) extensions.delete(before.resource_id);
      known.set(resource.extension_id, resource);
      extensions.set(resource.resource_id, resource.extension_id);
    },
    end(extension_id, now_ms) {
      const resource_id = known.get(extension_id)?.resource_id ?? extension_id;
      known.delete(extension_id);
      gone.set(extension_id, { resource_id, at_ms: now_ms });
    },
    forget(before_ms) {
      for (const [extension_id, { resource_id, at_ms }] of gone) {
        if (at_ms >= before_ms) continue;
        gone.delete(extension_id);
        if (extensions.get(resource_id) === extension_id) extensions.delete(resource_id);
      }
    },
  };
}
