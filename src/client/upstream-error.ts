// What went wrong with a call to another server: its status and its message, or how the connection failed.

/**
 * Whose word an answer is. `remora`: it has the marker of Remora's own errors. `documented`: it has none, and its body is an error as the
 * documents have it. `stranger`: neither, as from a proxy before the other side.
 */
export type AnsweredBy = 'remora' | 'documented' | 'stranger';

export interface UpstreamErrorFields {
  /** The code of the other side's error body, or one of `UpstreamFailure`. */
  readonly code: string;
  /** Undefined when no answer came. */
  readonly status?: number | undefined;
  /** The same call may succeed later. Whether repeating it is safe depends on the call. */
  readonly retryable: boolean;
  /** False when certainly no byte of the request was sent. */
  readonly sent: boolean;
  readonly retryAfter_ms?: number | undefined;
  readonly details?: unknown;
  /** Set for an answer that is no success. */
  readonly answeredBy?: AnsweredBy | undefined;
  readonly cause?: unknown;
}

/**
 * Codes of Remora's own. `connection_failed`: no connection, or it broke off. `timeout`: no whole answer within the deadline.
 * `aborted`: the caller gave up. `invalid_answer`: a success in another shape than the operation's. `answer_too_large`.
 * `status_<n>`: an answer that is no success and names no code.
 */
export type UpstreamFailure = 'connection_failed' | 'timeout' | 'aborted' | 'invalid_answer' | 'answer_too_large';

export class UpstreamError extends Error {
  override readonly name = 'UpstreamError';
  readonly code: string;
  readonly status: number | undefined;
  readonly retryable: boolean;
  readonly sent: boolean;
  readonly retryAfter_ms: number | undefined;
  readonly details: unknown;
  readonly answeredBy: AnsweredBy | undefined;

  constructor(message: string, fields: UpstreamErrorFields) {
    super(message, fields.cause === undefined ? undefined : { cause: fields.cause });
    this.code = fields.code;
    this.status = fields.status;
    this.retryable = fields.retryable;
    this.sent = fields.sent;
    this.retryAfter_ms = fields.retryAfter_ms;
    this.details = fields.details;
    this.answeredBy = fields.answeredBy;
  }
}
