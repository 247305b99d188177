// The nonces that were used, so that a signed request counts once. Kept longer than a timestamp is believed, and bounded.

/** Twice the window of timestamps: a request from its future end may come again until then. */
export const NONCE_KEPT_MS = 600_000;
const NONCES_MAX = 100_000;

export interface NonceBook {
  /** False when it was used before. Call it only after the signature holds, or strangers could use nonces up. */
  use(nonce: string, now_ms: number): boolean;
}

/** In memory, for one process. A provider of several processes keeps its own over a shared store. */
export function createNonceBook(): NonceBook {
  /** In the order of use, because a Map keeps it. */
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
