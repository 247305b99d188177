// What is written down of a call that failed: what a caller did wrong is its own business; what went wrong in here, and what another
// server did, goes to the log.
import type { Log } from '../core/log.ts';
import { RemoraError } from '../core/remora-error.ts';
import { type MapError, toKnownError } from './error-answer.ts';
import type { Exchange } from './exchange.ts';
import { targetPath } from './target-path.ts';

export interface FailureLogOptions {
  readonly log: Log;
  readonly mapError?: MapError | undefined;
  /** The path of a request as the log may hold it. */
  readonly toLoggedPath: (path: string) => string;
}

export type WriteFailure = (error: unknown, exchange: Pick<Exchange, 'request' | 'response'>) => void;

export function createFailureLog({ log, mapError, toLoggedPath }: FailureLogOptions): WriteFailure {
  return (error, { request, response }) => {
    const known = toKnownError(error, mapError);
    if (known !== undefined && isOfCaller(error, known.status) && known.code !== 'internal') return;
    const fields = { err: error, method: request.method, path: toLoggedPath(targetPath(request)) };
    const isGone = response.destroyed && !response.writableFinished;
    if (isGone && (known !== undefined || isAbort(error))) log.debug(fields, 'the caller went away');
    else log.error(fields, 'a handler failed');
  };
}

/** A RemoraError without a cause was made for its caller, whatever its status: there is nothing else to know of it. */
function isOfCaller(error: unknown, status: number): boolean {
  return status < 500 || (error instanceof RemoraError && error.cause === undefined);
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
