// A rate for each of many keys, such as senders. Keys that were not seen for long are forgotten, so that memory stays bounded.
import { createTokenBucket, type TokenBucket } from '../../core/token-bucket.ts';
import type { MailRate } from './mail-options.ts';

export interface KeyedRates {
  /** False when the key has used up its rate. */
  take(key: string): boolean;
  /** Whether `take` would succeed. */
  has(key: string): boolean;
}

const KEYS_KEPT = 10_000;

export function createKeyedRates({ burst, perSecond }: MailRate, now_ms: () => number): KeyedRates {
  const buckets = new Map<string, TokenBucket>();

  function bucketOf(key: string): TokenBucket {
    const bucket = buckets.get(key) ?? createTokenBucket({ capacity: burst, refillPerSecond: perSecond, now_ms });
    buckets.delete(key);
    buckets.set(key, bucket);
    const [oldest] = buckets.keys();
    if (buckets.size > KEYS_KEPT && oldest !== undefined) buckets.delete(oldest);
    return bucket;
  }

  return {
    take: (key) => bucketOf(key).take(),
    has: (key) => bucketOf(key).wait_ms() === 0,
  };
}
