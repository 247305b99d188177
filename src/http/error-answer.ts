// What a caller reads of an error: a status, a body and headers, without anything of the inside.
import { ERROR_MARKER, type ErrorBody, errorStatus } from '../contract/errors.ts';
import { RemoraError, type UsedUpRate } from '../core/remora-error.ts';

/** What an error is to the caller. */
export interface KnownError {
  readonly status: number;
  /** Stable: programs decide by it. */
  readonly code: string;
  /** What is wrong and what to do. */
  readonly message: string;
  readonly details?: unknown;
  /** Further fields of the body, beside `error` and `message`, where a client reads them there. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /** When the caller may try again; becomes `Retry-After`. */
  readonly retryAfter_ms?: number | undefined;
  /** The rate that is used up; becomes `X-RateLimit-*`. */
  readonly rate?: UsedUpRate | undefined;
}

/** Knows the error classes of an application besides RemoraError; undefined for an error that is `internal`. Never throws. */
export type MapError = (error: unknown) => KnownError | undefined;

export interface ErrorAnswer {
  readonly status: number;
  readonly body: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
}

/** What each 401 asks for (RFC 6750 and RFC 6749, Error Response). */
const challenges: Readonly<Record<string, string>> = {
  unauthorized: 'Bearer',
  invalid_token: 'Bearer realm="sign-on", error="invalid_token"',
  invalid_client: 'Basic realm="sign-on"',
};

/** The public form of any error: one that is known as it is, all others as `internal` without their own message. */
export function toErrorAnswer(error: unknown, mapError?: MapError): ErrorAnswer {
  const known = toKnownError(error, mapError);
  if (known === undefined) {
    const message = 'something went wrong inside; the log of the daemon has the cause';
    return { status: 500, body: { error: 'internal', message }, headers: { [ERROR_MARKER]: 'internal' } };
  }
  const { status, code, message, details } = known;
  const headers: Record<string, string> = { [ERROR_MARKER]: code };
  const retryAfter_ms = known.retryAfter_ms ?? (status === 429 ? 0 : undefined);
  if (retryAfter_ms !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfter_ms / 1_000)));
  if (known.rate !== undefined) Object.assign(headers, toRateHeaders(known.rate));
  const challenge = challenges[code];
  if (challenge !== undefined) headers['www-authenticate'] = challenge;
  if (code === 'method_not_allowed') headers.allow = detailOf(details, 'allow');
  if (code === 'upgrade_required') headers.upgrade = detailOf(details, 'upgrade');
  const body = { error: code, message, ...known.fields };
  return { status, body: details === undefined ? body : { ...body, details }, headers };
}

/** Undefined for an error that neither Remora nor the application knows. */
export function toKnownError(error: unknown, mapError?: MapError): KnownError | undefined {
  if (!(error instanceof RemoraError)) return mapError?.(error);
  const { code, message, details, fields, retryAfter_ms, rate } = error;
  return { status: errorStatus[code], code, message, details, fields, retryAfter_ms, rate };
}

/** The headers as the clients of the ecosystem read them: the reset is a time in Unix seconds. */
function toRateHeaders({ limit, reset_ms }: UsedUpRate): Record<string, string> {
  const reset = String(Math.ceil(reset_ms / 1_000));
  return { 'x-ratelimit-limit': String(limit), 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset };
}

function detailOf(details: unknown, name: string): string {
  return typeof details === 'object' && details !== null ? String(Reflect.get(details, name) ?? '') : '';
}
