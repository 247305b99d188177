// A limit on how often something may happen: so many at once, then so many a second.

export interface TokenBucketOptions {
  readonly capacity: number;
  readonly refillPerSecond: number;
  /** Monotonic milliseconds. */
  readonly now_ms: () => number;
}

export interface TokenBucket {
  /** Takes so many tokens if they are there, one where nothing else is said. */
  take(count?: number): boolean;
  /** Gives back a token that was taken and does not count. */
  give(): void;
  /** How long until there is a token; 0 when there is one now. */
  wait_ms(): number;
}

export function createTokenBucket({ capacity, refillPerSecond, now_ms }: TokenBucketOptions): TokenBucket {
  let tokens = capacity;
  let filled_at_ms = now_ms();

  function fill(): void {
    const now = now_ms();
    tokens = Math.min(capacity, tokens + (Math.max(0, now - filled_at_ms) * refillPerSecond) / 1_000);
    filled_at_ms = now;
  }

  return {
    take(count = 1) {
      fill();
      if (tokens < count) return false;
      tokens -= count;
      return true;
    },
    give() {
      tokens = Math.min(capacity, tokens + 1);
    },
    wait_ms() {
      fill();
      return tokens >= 1 ? 0 : Math.ceil(((1 - tokens) * 1_000) / refillPerSecond);
    },
  };
}
