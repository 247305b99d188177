// How often each token may call: so many at once, then so many a second. What is known of a token is dropped when others push it
// out, which gives it a full allowance again.
import { RemoraError } from '../../core/remora-error.ts';
import { createTokenBucket, type TokenBucket } from '../../core/token-bucket.ts';

export interface CallRateOptions {
  readonly burst: number;
  readonly perSecond: number;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

export interface CallRate {
  /** Throws `too_many_requests` with the time after which there is room. */
  take(token_id: string): void;
}

const TOKENS_KEPT = 10_000;

export function createCallRate({ burst, perSecond, now_ms }: CallRateOptions): CallRate {
  const buckets = new Map<string, TokenBucket>();
  return {
    take(token_id) {
      const bucket =
        buckets.get(token_id) ?? createTokenBucket({ capacity: burst, refillPerSecond: perSecond, now_ms });
      buckets.delete(token_id);
      buckets.set(token_id, bucket);
      if (buckets.size > TOKENS_KEPT) {
        const [oldest] = buckets.keys();
        if (oldest !== undefined) buckets.delete(oldest);
      }
      if (bucket.take()) return;
      throw new RemoraError(
        'too_many_requests',
        `this token may make ${perSecond} calls a second; wait and try again`,
        {
          retryAfter_ms: bucket.wait_ms(),
        },
      );
    },
  };
}
