// Writing one JSON answer or one error in the shape that every door shares (design.md, section 3).
import type { ServerResponse } from 'node:http';
import { type ErrorBody, errorStatus } from '../contract/errors.ts';
import { ERROR_MARKER } from '../core/header-hygiene.ts';
import { RemoraError } from '../core/remora-error.ts';

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/** The public form of anything thrown: a RemoraError as it is, all else as `internal` without a word of its own. */
export function toErrorAnswer(error: unknown): { status: number; body: ErrorBody; headers: Record<string, string> } {
  if (!(error instanceof RemoraError)) {
    const message = 'something went wrong inside; the log of the daemon has the cause';
    return { status: 500, body: { error: 'internal', message }, headers: { [ERROR_MARKER]: 'internal' } };
  }
  const headers: Record<string, string> = { [ERROR_MARKER]: error.code };
  if (error.retryAfter_ms !== undefined)
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.retryAfter_ms / 1_000)));
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  if (error.code === 'method_not_allowed') headers.allow = allowOf(error.details);
  const body = { error: error.code, message: error.message };
  return {
    status: errorStatus[error.code],
    body: error.details === undefined ? body : { ...body, details: error.details },
    headers,
  };
}

/** Answers with an error, or breaks the connection off when the answer has already begun: never a clean end. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const answer = toErrorAnswer(error);
  if (!response.req.complete) answer.headers.connection = 'close';
  sendJson(response, answer.status, answer.body, answer.headers);
}

function allowOf(details: unknown): string {
  return typeof details === 'object' && details !== null && 'allow' in details ? String(details.allow) : '';
}
