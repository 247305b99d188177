// A time limit joined with the caller's own signal; the error shows which of the two fired.
import { UpstreamError } from './upstream-error.ts';

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** Ends the time limit; the caller's signal stays joined. */
  clear(): void;
}

export function startDeadline(limit_ms: number, caller: AbortSignal | undefined): Deadline {
  const controller = new AbortController();
  const timer = setTimeout(() => {
    const message = `no answer within ${limit_ms} ms`;
    controller.abort(new UpstreamError(message, { code: 'timeout', retryable: true, sent: true }));
  }, limit_ms);
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
    [Symbol.dispose]() {
      clearTimeout(timer);
      caller?.removeEventListener('abort', onAbort);
    },
  };
}
