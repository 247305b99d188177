// Keeps who the callers of tokens are for as long as nothing in the database changes: most calls come from callers that have called before, and
// to read each from four tables costs more than anything else that is done for a call.
import { timingSafeEqual } from 'node:crypto';
import type { Storage } from '../storage/storage.ts';
import type { Caller, CallerStore } from './caller-store.ts';
import { toTokenHash, toTokenLookup } from './token-store.ts';

const KEPT_MAX = 1_000;

interface Kept {
  readonly hash: Buffer;
  readonly caller: Caller;
}

/**
 * The store with callers kept by their token. A token that is revoked, or a record of its caller that has changed, is seen at the
 * next call, whichever process has changed it; what cannot be found is not kept, and nothing is where the storage cannot tell of changes.
 */
export function createKeptCallers(callers: CallerStore, storage: Pick<Storage, 'version'>): CallerStore {
  /** By the part of the hash that the database has an index of; the rest is compared in constant time here too. */
  const kept = new Map<string, Kept>();
  let keptVersion: number | undefined;

  function keep(lookup: string, entry: Kept): void {
    const [oldest] = kept.keys();
    if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest);
    kept.set(lookup, entry);
  }

  return {
    async find(text, now_ms) {
      const version = storage.version();
      if (version === undefined) return await callers.find(text, now_ms);
      if (version !== keptVersion) kept.clear();
      keptVersion = version;
      const hash = toTokenHash(text);
      const lookup = toTokenLookup(hash).toString('latin1');
      const known = kept.get(lookup);
      if (known !== undefined && timingSafeEqual(known.hash, hash)) return toGood(known, now_ms);
      const found = await callers.find(text, now_ms);
      // What has changed since the version was read is seen at the next call. Where one has seen it already, this may be from before.
      if (found !== undefined && keptVersion === version) keep(lookup, { hash, caller: found });
      return found;
    },
    again: callers.again,
  };
}

function toGood({ caller }: Kept, now_ms: number): Caller | undefined {
  const { expires_at } = caller.token;
  return expires_at === null || expires_at > now_ms ? caller : undefined;
}
