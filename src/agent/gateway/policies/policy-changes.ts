// Follows the platform's stream of changes and calls `onChange` for each. While there is no such stream, the policies are still
// fetched at intervals.
import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../../../client/upstream-error.ts';
import { createBackoff } from '../../../core/backoff.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import { isPlatformsWord } from '../../platform-word.ts';
import type { PolicySource } from './policy-source.ts';

/** How long to wait before asking again a platform that has no stream: a newer release may have it. */
const MISSING_WAIT_MS = 600_000;
/** A stream that lasted this long shows that the platform works: its failures are forgotten. */
const STABLE_MS = 5_000;
/** One end is not a failure: the platform restarted, or a proxy closed an idle connection. */
const FAILURES_TOLERATED = 1;
const missing: ReadonlySet<number | undefined> = new Set([400, 404, 405, 501]);

/** `missing`: this platform says that it has no stream. `lost`: the stream failed more than once in a row. */
export type ChangesState =
  | { readonly type: 'following' }
  | { readonly type: 'missing' }
  | { readonly type: 'lost'; readonly problem: string };

export interface PolicyChangesOptions {
  readonly random: () => number;
  readonly source: Pick<PolicySource, 'watch'>;
  /** Waits while the machine is being suspended. */
  readonly gate: () => Promise<void>;
  /** The connections that a request made now uses. A resume replaces them. */
  readonly connections: () => object;
  /** Called when something changed, or may have changed while there was no stream. */
  readonly onChange: () => void;
  readonly onState: (state: ChangesState) => void;
}

export interface PolicyChanges {
  /**
   * Asks for the stream at once, because its other end is gone after a resume. One that was asked for over the present connections
   * stays: it is younger than the resume.
   */
  redial(): void;
}

/** Runs until `signal`. Never throws. */
export function followPolicyChanges(options: PolicyChangesOptions, signal: AbortSignal): PolicyChanges {
  const backoff = createBackoff({ random: options.random });
  let version: string | undefined;
  let isProved = false;
  let attempt = new AbortController();
  /** The connections that the stream uses; undefined while there is none. */
  let over: object | undefined;

  function onStable(): void {
    backoff.reset();
    options.onState({ type: 'following' });
  }

  /** Resolves to the reason why the stream ended. */
  async function follow(until: AbortSignal): Promise<unknown> {
    let stable: NodeJS.Timeout | undefined;
    try {
      await options.gate();
      until.throwIfAborted();
      over = options.connections();
      for await (const change of options.source.watch(version, until)) {
        stable ??= setTimeout(onStable, STABLE_MS).unref();
        if (change.version !== version) options.onChange();
        version = change.version;
        isProved = true;
      }
      return new Error('it ended');
    } catch (error) {
      return error;
    } finally {
      over = undefined;
      clearTimeout(stable);
    }
  }

  /** How long to wait before the next attempt, in milliseconds. */
  function onEnd(error: unknown): number {
    if (error instanceof UpstreamError) isProved ||= error.answeredBy === 'remora';
    if (error instanceof UpstreamError && missing.has(error.status) && isPlatformsWord(error, isProved)) {
      options.onState({ type: 'missing' });
      return MISSING_WAIT_MS * (0.9 + 0.2 * options.random());
    }
    const wait_ms = backoff.next(error instanceof UpstreamError ? error.retryAfter_ms : undefined);
    const problem = toErrorMessage(error);
    if (backoff.failures > FAILURES_TOLERATED) options.onState({ type: 'lost', problem });
    return wait_ms;
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      attempt = new AbortController();
      const until = AbortSignal.any([signal, attempt.signal]);
      const error = await follow(until);
      if (until.aborted) continue;
      await sleep(onEnd(error), undefined, { signal: until, ref: false }).catch(() => undefined);
    }
  }

  void run();
  return {
    redial() {
      backoff.reset();
      if (over !== options.connections()) attempt.abort();
    },
  };
}
