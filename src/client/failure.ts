// Turns a refused answer or a failed connection into an UpstreamError. Pure.
import { z } from 'zod';
import { ERROR_MARKER } from '../contract/errors.ts';
import { ANSWER_LIMITS, readBoundedJson } from '../core/bounded-json.ts';
import { errorCode } from '../core/error-code.ts';
import { toErrorMessage } from '../core/error-message.ts';
import { RemoraError } from '../core/remora-error.ts';
import { type AnsweredBy, UpstreamError } from './upstream-error.ts';

/** A longer `Retry-After` is ignored. */
const RETRY_AFTER_CAP_MS = 3_600_000;
const MESSAGE_CAP = 500;

/** The known error bodies: Remora's own, those of the Machines API and those of OAuth servers. */
const refusalBody = z.object({
  error: z.string(),
  message: z.string().optional(),
  error_description: z.string().optional(),
  details: z.unknown().optional(),
});

/** Errors of the system and of undici that come before the first byte of a request. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOENT',
  'EACCES',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export interface Refusal {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

export function toRefusal(refusal: Refusal): UpstreamError {
  const { status, text, headers } = refusal;
  const json = parseJson(text);
  const body = refusalBody.safeParse(json);
  const answeredBy: AnsweredBy =
    headers[ERROR_MARKER] !== undefined ? 'remora' : body.success ? 'documented' : 'stranger';
  // The page of a proxy says nothing that helps.
  const rest =
    answeredBy === 'stranger' && json === undefined
      ? `the answer ${status} does not come from the platform`
      : text.trim();
  const said = body.success ? (body.data.message ?? body.data.error_description ?? body.data.error) : rest;
  return new UpstreamError(said === '' ? `status ${status}` : said.slice(0, MESSAGE_CAP), {
    status,
    answeredBy,
    code: body.success && /^[a-z0-9_]{1,64}$/.test(body.data.error) ? body.data.error : `status_${status}`,
    retryable: status === 408 || status === 425 || status === 429 || (status >= 500 && status !== 501),
    sent: true,
    // A `Retry-After` date is counted from the `Date` of the same answer.
    retryAfter_ms: parseRetryAfter(single(headers['retry-after']), single(headers.date)),
    details: body.success ? body.data.details : undefined,
  });
}

/** Seconds or a date, in milliseconds; undefined for neither. */
export function parseRetryAfter(value: string | undefined, date: string | undefined): number | undefined {
  if (value === undefined) return undefined;
  const wait = /^\d{1,9}$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.parse(date ?? '');
  return Number.isNaN(wait) ? undefined : Math.min(RETRY_AFTER_CAP_MS, Math.max(0, wait));
}

/** The error that a call throws: an error with a code of its own as it is, anything else as a failed connection. */
export function toConnectionFailure(error: unknown): UpstreamError | RemoraError {
  if (error instanceof UpstreamError || error instanceof RemoraError) return error;
  const reason = toErrorMessage(error);
  const code = errorCode(error);
  return new UpstreamError(reason === '' ? (code ?? 'the connection failed') : reason, {
    code: 'connection_failed',
    retryable: true,
    sent: code === undefined || !UNSENT.has(code),
    cause: error,
  });
}

export function parseJson(text: string): unknown {
  return readBoundedJson(text, ANSWER_LIMITS);
}

function single(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
