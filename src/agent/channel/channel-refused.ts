// The error of an attempt to open a channel.
/** The platform refused the channel, or could not be asked. */
export class ChannelRefused extends Error {
  override readonly name = 'ChannelRefused';
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly retryAfter_ms: number | undefined;
  /**
   * Asking again changes nothing: the platform has no such operation, or none of this version, or the token is that of the sprite and not of
   * its machine. Only the platform can say so, and its errors have a marker: what answers in its place may be gone in a minute.
   */
  readonly isFinal: boolean;

  constructor(
    message: string,
    answer: { status?: number; retryAfter_ms?: number | undefined; isFinal?: boolean } = {},
  ) {
    super(message);
    this.status = answer.status;
    this.retryAfter_ms = answer.retryAfter_ms;
    this.isFinal = answer.isFinal ?? false;
  }
}
