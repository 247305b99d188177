// The rate limit of each token: a burst, then so many calls a second, through the gateway and otherwise. It is decided before the
// database is asked, so it knows only tokens that were good recently. A token that newer ones push out of the cache starts with a full
// allowance again.
import { RemoraError } from '../../core/remora-error.ts';
import { createTokenBucket, type TokenBucket } from '../../core/token-bucket.ts';

export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Calls through the gateway have a rate of their own. */
export type CallKind = 'gateway' | 'others';

export type CallRates = Readonly<Record<CallKind, Rate>>;

export interface CallRate {
  /** The organization of this token, by its hash, if it was good when it was last looked up. */
  ownerOf(hash: string): string | undefined;
  /** Call it when the token was found to be good. */
  learn(hash: string, organization_id: string): void;
  /** Call it when the token was found to be no longer good. */
  forget(hash: string): void;
  /** Counts a call of a token that is known. Throws `too_many_requests` with the time after which there is room. */
  take(hash: string, kind: CallKind): void;
}

const TOKENS_KEPT = 10_000;
const OTHERS: Rate = { burst: 500, perSecond: 100 };

/** `others`: the default rate when undefined. Through the gateway a token has the limit of its sprite, `gatewayPerSecond`. */
export function toCallRates(others: Rate | undefined, gatewayPerSecond: number): CallRates {
  return { others: others ?? OTHERS, gateway: { burst: Math.max(1, gatewayPerSecond), perSecond: gatewayPerSecond } };
}

/** `now_ms`: monotonic. */
export function createCallRate(rates: CallRates, now_ms: () => number): CallRate {
  const known = new Map<string, Record<CallKind, TokenBucket> & { readonly owner: string }>();
  const toBucket = ({ burst, perSecond }: Rate) =>
    createTokenBucket({ capacity: burst, refillPerSecond: perSecond, now_ms });
  return {
    ownerOf: (hash) => known.get(hash)?.owner,
    learn(hash, owner) {
      if (known.has(hash)) return;
      known.set(hash, { owner, gateway: toBucket(rates.gateway), others: toBucket(rates.others) });
      if (known.size <= TOKENS_KEPT) return;
      const [oldest] = known.keys();
      if (oldest !== undefined) known.delete(oldest);
    },
    forget(hash) {
      known.delete(hash);
    },
    take(hash, kind) {
      const buckets = known.get(hash);
      if (buckets === undefined) return;
      known.delete(hash);
      known.set(hash, buckets);
      const bucket = buckets[kind];
      if (bucket.take()) return;
      const where = kind === 'gateway' ? ' through the gateway' : '';
      const message = `this token may make ${rates[kind].perSecond} calls a second${where}; wait and try again`;
      throw new RemoraError('too_many_requests', message, { retryAfter_ms: bucket.wait_ms() });
    },
  };
}
