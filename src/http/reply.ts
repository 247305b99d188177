// Writes one JSON answer or one error in the shape that every listener shares.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorBody } from '../contract/errors.ts';
import { type MapError, toErrorAnswer } from './error-answer.ts';

/** A declared body up to this size is read and dropped after an error, rather than the connection closed. */
const DROP_CAP_BYTES = 64 * 1024;
/** How long a caller may go on sending after it got an error. */
const LINGER_MS = 2_000;

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const text = toText(body);
  response.writeHead(status, { ...toHeaders(text), ...headers });
  response.end(text);
}

function toText(body: unknown): string {
  return `${JSON.stringify(body)}\n`;
}

function toHeaders(text: string): Record<string, string | number> {
  return { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
}

/**
 * Answers with an error, or breaks off the connection when the answer has already begun, so that it never looks complete. A
 * caller that is still sending a large body can read the answer while its bytes are dropped for a moment; then the connection
 * closes.
 */
export function sendError(response: ServerResponse, error: unknown, mapError?: MapError): void {
  if (response.writableEnded) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, body, headers } = toErrorAnswer(error, mapError);
  // The body is overdue already, so that the connection does not wait for the rest of it.
  if (status === 408 && !response.req.complete) sendJson(response, status, body, { ...headers, connection: 'close' });
  else if (endsSoon(response.req)) sendJson(response, status, body, headers);
  else sendBeforeEnd(response, status, body, headers);
}

/** True when the rest of the request can be read and dropped, so that the connection can be used again. */
function endsSoon(request: IncomingMessage): boolean {
  if (request.complete || request.destroyed) return true;
  const declared = request.headers['content-length'];
  return declared !== undefined && Number(declared) <= DROP_CAP_BYTES && request.headers.expect === undefined;
}

function sendBeforeEnd(
  response: ServerResponse,
  status: number,
  body: ErrorBody,
  headers: Readonly<Record<string, string>>,
): void {
  const text = toText(body);
  response.writeHead(status, { ...toHeaders(text), ...headers, connection: 'close' });
  response.write(text);
  const end = () => {
    clearTimeout(linger);
    response.end();
  };
  const linger = setTimeout(end, LINGER_MS);
  linger.unref();
  response.req.once('end', end);
  response.once('close', () => clearTimeout(linger));
  response.req.resume();
}
