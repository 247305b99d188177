// Ends the process of the agent: after a drain at a signal, at once at a second signal, at a deadline when something hangs, and
// with exit code 1 after an uncaught error, because its state is unknown then; its supervisor starts it again.
import type { Log } from '../core/log.ts';

/** How long the last records may take after an uncaught error. */
const CRASH_MS = 3_000;

export interface ProcessEnd {
  /** Aborts at SIGTERM or SIGINT. */
  readonly signal: AbortSignal;
  /** Resolves when `signal` aborts. */
  readonly stopped: Promise<void>;
  /** Sets what runs after an uncaught error, before the process ends with code 1. It has three seconds. */
  beforeCrash(run: () => Promise<void>): void;
  /** Call it when nothing is served any more: the next signal ends the process, and so does the deadline. */
  finish(): void;
}

/** @param limit_ms from the first signal, or from `finish`, to the end of the process. */
export function watchProcessEnd(log: Log, limit_ms: () => number): ProcessEnd {
  const stop = new AbortController();
  const stopped = Promise.withResolvers<void>();
  let lastWords: (() => Promise<void>) | undefined;
  let isCrashing = false;

  function exitIn(delay_ms: number): void {
    setTimeout(() => process.exit(1), delay_ms).unref();
  }

  function onSignal(signal: NodeJS.Signals): void {
    if (stop.signal.aborted) process.exit(1);
    log.info({ signal }, 'stopping');
    exitIn(limit_ms());
    stop.abort();
    stopped.resolve();
  }

  async function crash(error: unknown): Promise<void> {
    if (isCrashing) return;
    isCrashing = true;
    exitIn(CRASH_MS);
    log.fatal({ err: error }, 'an error that nobody caught; the agent ends');
    await lastWords?.().catch((err: unknown) => log.error({ err }, 'the last records are lost'));
    process.exit(1);
  }

  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  // An unhandled rejection arrives here too.
  process.on('uncaughtException', (error) => void crash(error));
  return {
    signal: stop.signal,
    stopped: stopped.promise,
    beforeCrash(run) {
      lastWords = run;
    },
    finish() {
      process.off('SIGTERM', onSignal);
      process.off('SIGINT', onSignal);
      exitIn(limit_ms());
    },
  };
}
