// A provider's function that takes longer than the platform waits: it goes on, and the platform is told to ask again.
import { RemoraError } from '../core/remora-error.ts';
import { withDeadline } from '../core/with-deadline.ts';

/** The platform waits 30 s for an answer. */
export const CALL_LIMIT_MS = 25_000;
const RETRY_MS = 1_000;

/** Rejects with `not_ready` after `limit_ms`. What is thrown later goes to `onLateError`. */
export async function inTime<T>(
  limit_ms: number,
  running: Promise<T>,
  onLateError: (error: unknown) => void,
): Promise<T> {
  return await withDeadline(limit_ms, running, () => {
    running.catch(onLateError);
    return notReady('this takes longer; ask again');
  });
}

export function notReady(message: string): RemoraError {
  return new RemoraError('not_ready', message, { retryAfter_ms: RETRY_MS });
}
