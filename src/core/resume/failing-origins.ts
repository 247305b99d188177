// Pooled connections that break at two places at once: a hint that this machine was away.

const TOGETHER_MS = 2_000;
const ORIGINS = 16;

export interface FailingOrigins {
  /** Records that a connection in use broke. True when one to another origin did so within two seconds. */
  note(origin: string, mono_ms: number): boolean;
}

export function createFailingOrigins(): FailingOrigins {
  const failed = new Map<string, number>();
  return {
    note(origin, mono_ms) {
      for (const [other, at_ms] of failed) if (mono_ms - at_ms > TOGETHER_MS) failed.delete(other);
      failed.delete(origin);
      const together = failed.size > 0;
      if (failed.size < ORIGINS) failed.set(origin, mono_ms);
      return together;
    },
  };
}
