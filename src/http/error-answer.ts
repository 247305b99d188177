// What a caller reads of an error: a status, a body and headers, without anything of the inside.
import { type ErrorBody, errorStatus } from '../contract/errors.ts';
import { ERROR_MARKER } from '../core/gateway/header-hygiene.ts';
import { RemoraError } from '../core/remora-error.ts';

/** The public form of any error: a RemoraError as it is, all others as `internal` without their own message. */
export function toErrorAnswer(error: unknown): { status: number; body: ErrorBody; headers: Record<string, string> } {
  if (!(error instanceof RemoraError)) {
    const message = 'something went wrong inside; the log of the daemon has the cause';
    return { status: 500, body: { error: 'internal', message }, headers: { [ERROR_MARKER]: 'internal' } };
  }
  const headers: Record<string, string> = { [ERROR_MARKER]: error.code };
  const retryAfter_ms = error.retryAfter_ms ?? (errorStatus[error.code] === 429 ? 0 : undefined);
  if (retryAfter_ms !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfter_ms / 1_000)));
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  if (error.code === 'method_not_allowed') headers.allow = allowOf(error.details);
  const body = { error: error.code, message: error.message };
  return {
    status: errorStatus[error.code],
    body: error.details === undefined ? body : { ...body, details: error.details },
    headers,
  };
}

function allowOf(details: unknown): string {
  return typeof details === 'object' && details !== null && 'allow' in details ? String(details.allow) : '';
}
