// A time limit joined with the caller's own signal; the error shows which of the two fired.
import { UpstreamError } from './upstream-error.ts';

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Ends the time limit; the caller's signal stays joined. */
  clear(): void;
  /** A time limit that begins now, in place of the one before. */
  restart(limit_ms: number): void;
}

export function startDeadline(limit_ms: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const start = (within_ms: number) =>
    setTimeout(() => {
      const message = `no answer within ${within_ms} ms`;
      controller.abort(new UpstreamError(message, { code: 'timeout', retryable: true, sent: true }));
    }, within_ms);
  let timer = start(limit_ms);
  const onAbort = () => {
    const fields = { code: 'aborted', retryable: false, sent: true, cause: caller?.reason };
    controller.abort(new UpstreamError('the caller gave up', fields));
  };
  if (caller?.aborted === true) onAbort();
  else caller?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    clear() {
      clearTimeout(timer);
    },
    restart(within_ms) {
      clearTimeout(timer);
      timer = start(within_ms);
    },
    [Symbol.dispose]() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
}
