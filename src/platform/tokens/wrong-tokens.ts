// Limits how many unknown tokens may be tried, from one address and in all, because each costs a query. Tokens that were good recently
// are not counted, so a flood of wrong tokens does not shut them out.
import { RemoraError } from '../../core/remora-error.ts';
import { createTokenBucket, type TokenBucket } from '../../core/token-bucket.ts';
import type { Rate } from './call-rate.ts';
import { toNetwork } from './to-network.ts';

export interface WrongTokenRates {
  readonly ofAddress: Rate;
  readonly ofAll: Rate;
}

/** One token that is being looked up. */
export interface Trial {
  /** Call it when the token was good or could not be checked: the trial then does not count. */
  forgive(): void;
}

export interface WrongTokens {
  /** Throws `too_many_requests` with the time after which there is room. */
  begin(address: string | undefined): Trial;
}

const DEFAULT_RATES: WrongTokenRates = {
  ofAddress: { burst: 200, perSecond: 10 },
  ofAll: { burst: 2_000, perSecond: 100 },
};

const ADDRESSES_KEPT = 10_000;

/** `now_ms`: monotonic. */
export function createWrongTokens(now_ms: () => number, rates: WrongTokenRates = DEFAULT_RATES): WrongTokens {
  const { ofAddress, ofAll } = rates;
  const toBucket = ({ burst, perSecond }: Rate) =>
    createTokenBucket({ capacity: burst, refillPerSecond: perSecond, now_ms });
  const all = toBucket(ofAll);
  const byAddress = new Map<string, TokenBucket>();

  function bucketOf(name: string): TokenBucket {
    const bucket = byAddress.get(name) ?? toBucket(ofAddress);
    byAddress.delete(name);
    byAddress.set(name, bucket);
    const [oldest] = byAddress.keys();
    if (byAddress.size > ADDRESSES_KEPT && oldest !== undefined) byAddress.delete(oldest);
    return bucket;
  }

  return {
    begin(address) {
      const own = bucketOf(toNetwork(address ?? ''));
      if (!own.take()) throw refuse(own);
      if (!all.take()) {
        own.give();
        throw refuse(all);
      }
      return {
        forgive() {
          own.give();
          all.give();
        },
      };
    },
  };
}

function refuse(bucket: TokenBucket): RemoraError {
  const message = 'too many tokens that are not valid were tried; wait and try again with one that is';
  return new RemoraError('too_many_requests', message, { retryAfter_ms: bucket.wait_ms() });
}
