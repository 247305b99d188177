// Why a connection to the node could not be made or ended. The follower tries again after each of them; the code says what to fix.

export type FollowFailureCode =
  | 'node_unreachable'
  | 'node_timeout'
  | 'node_without_events'
  | 'node_refused'
  | 'node_ended'
  | 'node_broke_off'
  | 'node_silent'
  | 'node_changed'
  | 'no_init'
  | 'line_too_long'
  | 'resumed'
  | 'stopped';

export interface FollowFailureOptions {
  readonly cause?: unknown;
  /** The wait that the node asked for in `Retry-After`. */
  readonly retryAfter_ms?: number;
}

export class FollowFailure extends Error {
  override readonly name = 'FollowFailure';
  readonly code: FollowFailureCode;
  readonly retryAfter_ms: number | undefined;

  constructor(code: FollowFailureCode, message: string, options: FollowFailureOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfter_ms = options.retryAfter_ms;
  }
}
