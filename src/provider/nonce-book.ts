// The nonces of signed requests: a request with a used one is refused. They are kept longer than a timestamp is valid, and
// their number is bounded.

/** Twice the window of timestamps: a request whose timestamp is at the future end of the window may be repeated until then. */
export const NONCE_KEPT_MS = 600_000;
const NONCES_MAX = 100_000;

export interface NonceBook {
  /** False when the nonce was used before. Call it only after the signature holds, or strangers could use nonces up. */
  use(nonce: string, now_ms: number): boolean;
}

/** Keeps the nonces in memory, for one process. A provider of several processes needs a book over a shared store. */
export function createNonceBook(): NonceBook {
  /** A Map keeps the order of insertion, which is the order of use. */
  const used = new Map<string, number>();
  return {
    use(nonce, now_ms) {
      for (const [old, at_ms] of used) {
        if (now_ms - at_ms < NONCE_KEPT_MS && used.size < NONCES_MAX) break;
        used.delete(old);
      }
      if (used.has(nonce)) return false;
      used.set(nonce, now_ms);
      return true;
    },
  };
}
