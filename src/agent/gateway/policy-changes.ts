// Follows the platform's stream of changes and rings when there is one. Where there is no such stream, the policies are fetched by
// the clock as ever.
import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../../client/upstream-error.ts';
import { createBackoff } from '../../core/backoff.ts';
import type { Clock } from '../../core/clock.ts';
import type { PolicySource } from './policy-source.ts';

/** A platform without the row may be replaced by one that has it. */
const MISSING_WAIT_MS = 600_000;
/** A stream that ends earlier has not shown that the platform is well. */
const STABLE_MS = 5_000;
const missing: ReadonlySet<number | undefined> = new Set([400, 404, 405, 501]);

export interface PolicyChangesOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly source: Pick<PolicySource, 'watch'>;
  /** Waits while the machine is being suspended. */
  readonly gate: () => Promise<void>;
  /** Something has changed, or may have while nobody was listening. */
  readonly onChange: () => void;
}

/** Runs until `signal`. Never throws. */
export async function followPolicyChanges(options: PolicyChangesOptions, signal: AbortSignal): Promise<void> {
  const backoff = createBackoff({ random: options.random });
  let version: string | undefined;

  async function follow(): Promise<void> {
    await options.gate();
    const started_ms = options.clock.mono_ms();
    try {
      for await (const change of options.source.watch(version, signal)) {
        if (change.version !== version) options.onChange();
        version = change.version;
      }
    } finally {
      if (options.clock.mono_ms() - started_ms > STABLE_MS) backoff.reset();
    }
  }

  while (!signal.aborted) {
    const error = await follow().then(
      () => undefined,
      (cause: unknown) => cause,
    );
    const isMissing = error instanceof UpstreamError && missing.has(error.status);
    const wait_ms = isMissing ? MISSING_WAIT_MS * (0.9 + 0.2 * options.random()) : backoff.next();
    await sleep(wait_ms, undefined, { signal, ref: false }).catch(() => undefined);
  }
}
