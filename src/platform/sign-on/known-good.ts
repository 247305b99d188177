// Credentials that were good recently. They are checked as all others are, but a flood of wrong ones does not shut them out.
export interface KnownGood {
  has(hash: string): boolean;
  learn(hash: string): void;
  forget(hash: string): void;
}

const KEPT = 10_000;

/** Those that were learnt last are kept. */
export function createKnownGood(kept = KEPT): KnownGood {
  const known = new Set<string>();
  return {
    has: (hash) => known.has(hash),
    learn(hash) {
      known.delete(hash);
      known.add(hash);
      const [oldest] = known;
      if (known.size > kept && oldest !== undefined) known.delete(oldest);
    },
    forget(hash) {
      known.delete(hash);
    },
  };
}
