// What is written down of a call that failed: what a caller did wrong is its own business; what went wrong in here, and what another
// server did, goes to the log.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorStatus } from '../contract/errors.ts';
import { toLoggedPath } from '../core/gateway/capability-text.ts';
import { RemoraError } from '../core/remora-error.ts';
import { targetPath } from './target-path.ts';

export interface EdgeLog {
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export function writeFailure(log: EdgeLog, error: unknown, request: IncomingMessage, response: ServerResponse): void {
  const known = error instanceof RemoraError;
  if (known && (error.cause === undefined || errorStatus[error.code] < 500) && error.code !== 'internal') return;
  const fields = { err: error, method: request.method, path: toLoggedPath(targetPath(request)) };
  const isGone = response.destroyed && !response.writableFinished;
  if (isGone && (known || isAbort(error))) log.debug(fields, 'the caller went away');
  else log.error(fields, 'a handler failed');
}

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}
