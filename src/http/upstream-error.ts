// What a failed call to an upstream means: whether another try is safe, and which of our errors the caller gets.
import { RemoraError } from '../core/remora-error.ts';

export interface SentSoFar {
  /** The request was given to a connection. */
  readonly started: boolean;
  /** A byte of an answer was seen. */
  readonly answered: boolean;
  /** The method only reads, and nothing of a body went out. */
  readonly safe: boolean;
}

/**
 * True when no byte was sent, or when a kept-alive connection turned out to be closed under a request that only reads: a
 * connection that has carried answers before and gives none to this one was closed before it.
 */
export function isRetryable(error: unknown, sent: SentSoFar): boolean {
  if (error instanceof RemoraError || codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT') return false;
  if (!sent.started) return true;
  return sent.safe && !sent.answered && hadAnswers(error);
}

/** The caller's view. The cause stays inside; only its code is told. */
export function toUpstreamError(error: unknown, who: 'provider' | 'platform'): RemoraError {
  if (error instanceof RemoraError) return error;
  const code = codeOf(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') {
    return new RemoraError('upstream_timeout', `the ${who} did not answer in time`, { cause: error });
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new RemoraError('upstream_timeout', `the ${who} could not be reached in time`, { cause: error });
  }
  const why = code === undefined ? '' : ` (${code})`;
  return new RemoraError('upstream_failed', `the ${who} could not be reached or broke off${why}`, { cause: error });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** undici puts the counters of the connection into its own socket errors. */
function hadAnswers(error: unknown): boolean {
  if (codeOf(error) !== 'UND_ERR_SOCKET' || !(error instanceof Error) || !('socket' in error)) return false;
  const { socket } = error;
  if (typeof socket !== 'object' || socket === null || !('bytesRead' in socket)) return false;
  return typeof socket.bytesRead === 'number' && socket.bytesRead > 0;
}
