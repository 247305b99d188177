// The nonces of signed requests: a request with a used one is refused. They are kept longer than a timestamp is valid, and
// their number is bounded.
import { RemoraError } from '../../core/remora-error.ts';
import type { Awaitable } from './awaitable.ts';

/** Twice the window of timestamps: a request whose timestamp is at the future end of the window may be repeated until then. */
export const NONCE_KEPT_MS = 600_000;
const NONCES_MAX = 100_000;

/** A provider of several processes needs a book that they share, or a request could be repeated at another process. */
export interface NonceBook {
  /**
   * False when the nonce was used before; of two calls at once for one nonce, one gets true. It is called only after the signature
   * holds, or strangers could use nonces up.
   */
  use(nonce: string, now_ms: number): Awaitable<boolean>;
  /** Forgets the nonces that were used before that moment. */
  forget(before_ms: number): Awaitable<void>;
}

/** Keeps the nonces in memory, for one process. `use` throws `too_many_requests` when it has as many as it may. */
export function createNonceBook({ max = NONCES_MAX }: { readonly max?: number } = {}): NonceBook {
  /** A Map keeps the order of insertion, which is the order of use. */
  const used = new Map<string, number>();
  return {
    use(nonce, now_ms) {
      if (used.has(nonce)) return false;
      // Forgetting one early would let its request be repeated.
      if (used.size >= max) {
        throw new RemoraError('too_many_requests', `more than ${max} requests in ten minutes; use a SQLite store`, {
          retryAfter_ms: 1_000,
        });
      }
      used.set(nonce, now_ms);
      return true;
    },
    forget(before_ms) {
      for (const [nonce, at_ms] of used) {
        if (at_ms >= before_ms) break;
        used.delete(nonce);
      }
    },
  };
}
