// Keeps who the callers of tokens are for as long as nothing in the database changes: most calls come from callers that have called before, and
// to read each from four tables costs more than anything else that is done for a call.
import { timingSafeEqual } from 'node:crypto';
import { KeptRecords } from '../storage/kept-records.ts';
import type { Storage } from '../storage/storage.ts';
import type { Caller, CallerStore } from './caller-store.ts';
import { toTokenHash, toTokenLookup } from './token-store.ts';

/** What all callers that are kept may take, and what one takes beside its labels; about. */
const KEPT_BYTES = 16 * 1024 * 1024;
const CALLER_BYTES = 1_200;

interface Kept {
  readonly hash: Buffer;
  readonly caller: Caller;
}

export interface KeptCallers extends CallerStore {
  /** See `Storage`. */
  look(): Promise<void> | undefined;
  /**
   * The caller of a token by the hash of the token, as of the last look, and of what this process has written since; undefined for one that is
   * not kept, or whose token has expired.
   */
  known(hash: Buffer, now_ms: number): Caller | undefined;
}

export function createKeptCallers(callers: CallerStore, storage: Pick<Storage, 'look' | 'version'>): KeptCallers {
  /** The keys are the part of the hash that the database has an index of; the rest is compared in constant time here too. */
  const kept = new KeptRecords<Kept>(storage, { max: KEPT_BYTES, sizeOf });
  return {
    look: () => storage.look(),
    known(hash, now_ms) {
      const known = kept.get(toKey(hash));
      return known !== undefined && timingSafeEqual(known.hash, hash) ? toGood(known.caller, now_ms) : undefined;
    },
    async find(text, now_ms) {
      const found = await kept.read(
        async () => {
          const caller = await callers.find(text, now_ms);
          return caller && { hash: toTokenHash(text), caller };
        },
        ({ hash, caller }) => ({ owner: caller.organization.id, key: toKey(hash) }),
      );
      return found?.caller;
    },
    again: callers.again,
  };
}

function toKey(hash: Buffer): string {
  return toTokenLookup(hash).toString('latin1');
}

function toGood(caller: Caller, now_ms: number): Caller | undefined {
  const { expires_at } = caller.token;
  return expires_at === null || expires_at > now_ms ? caller : undefined;
}

function sizeOf({ caller }: Kept): number {
  const labels = caller.type === 'organization' ? [] : caller.sprite.labels;
  return labels.reduce((size, label) => size + 16 + 2 * label.length, CALLER_BYTES);
}
