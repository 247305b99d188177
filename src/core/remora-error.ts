// The error of every layer below the HTTP edge: a stable code, a message for the caller, and a cause that stays inside.
import type { ErrorCode } from '../contract/errors.ts';

export interface RemoraErrorOptions {
  /** The caller gets it as `details`. */
  readonly details?: unknown;
  /** Further fields of the answer beside `error` and `message`, where clients read them there. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Written to the log only; never reaches a caller. */
  readonly cause?: unknown;
  /** When the caller may try again, in milliseconds; becomes `Retry-After`. */
  readonly retryAfter_ms?: number;
  /** The rate that is used up; becomes `X-RateLimit-*`. */
  readonly rate?: UsedUpRate;
}

export interface UsedUpRate {
  readonly limit: number;
  /** When it may be used again, in Unix milliseconds. */
  readonly reset_ms: number;
}

export class RemoraError extends Error {
  override readonly name = 'RemoraError';
  readonly code: ErrorCode;
  readonly details: unknown;
  readonly fields: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfter_ms: number | undefined;
  readonly rate: UsedUpRate | undefined;

  /** @param message what the caller reads: what is wrong and what to do. */
  constructor(code: ErrorCode, message: string, options: RemoraErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details;
    this.fields = options.fields;
    this.retryAfter_ms = options.retryAfter_ms;
    this.rate = options.rate;
  }
}
