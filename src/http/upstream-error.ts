// What a failed call to an upstream means: whether another try is safe, and which error the caller gets.

import { errorCode } from '../core/error-code.ts';
import { RemoraError } from '../core/remora-error.ts';

/** What answers an exchange, as messages name it. */
export type UpstreamKind = 'provider' | 'platform' | 'machine' | 'supervisor' | 'file process';

export interface SentSoFar {
  /** The request was given to a connection. */
  readonly started: boolean;
  /** A byte of an answer was seen. */
  readonly answered: boolean;
  /** The method only reads, and nothing of a body went out. */
  readonly safe: boolean;
}

/** Why connections in use were destroyed: the machine was resumed, and their other ends are gone or will never answer. */
export class ConnectionsReplaced extends Error {
  override readonly name = 'ConnectionsReplaced';
}

/** The connection ended. A late one, or one that sent something else than HTTP, has other codes. */
const ENDED = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** True when no byte was sent, or when the connection of a request that only reads ended before a byte of its answer. */
export function isRetryable(error: unknown, sent: SentSoFar): boolean {
  if (error instanceof RemoraError || errorCode(error) === 'UND_ERR_CONNECT_TIMEOUT') return false;
  if (!sent.started) return true;
  return sent.safe && !sent.answered && (error instanceof ConnectionsReplaced || ENDED.has(errorCode(error) ?? ''));
}

/** The caller's view. The cause stays inside; only its code is shown. */
export function toUpstreamError(error: unknown, who: UpstreamKind, sent: SentSoFar): RemoraError {
  if (error instanceof RemoraError) return error;
  if (error instanceof ConnectionsReplaced && sent.started && !sent.safe) {
    const message = `the machine was resumed while the ${who} had this call; whether it was carried out is not known`;
    return new RemoraError('outcome_unknown', message, { cause: error });
  }
  const code = errorCode(error);
  if (code === 'UND_ERR_HEADERS_TIMEOUT') {
    return new RemoraError('upstream_timeout', `the ${who} did not answer in time`, { cause: error });
  }
  if (code === 'UND_ERR_CONNECT_TIMEOUT') {
    return new RemoraError('upstream_timeout', `the ${who} could not be reached in time`, { cause: error });
  }
  const why = code === undefined ? '' : ` (${code})`;
  return new RemoraError('upstream_failed', `the ${who} could not be reached or broke off${why}`, { cause: error });
}
