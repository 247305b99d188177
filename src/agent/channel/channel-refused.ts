// The error of an attempt to open a channel.
/** The platform refused the channel, or could not be asked. */
export class ChannelRefused extends Error {
  override readonly name = 'ChannelRefused';
  /** Undefined when no answer came. */
  readonly status: number | undefined;
  readonly retryAfter_ms: number | undefined;

  constructor(message: string, status?: number, retryAfter_ms?: number) {
    super(message);
    this.status = status;
    this.retryAfter_ms = retryAfter_ms;
  }

  /** Asking again changes nothing: the platform has no such operation, or the token is that of the sprite and not of its machine. */
  get isFinal(): boolean {
    return this.status === 403 || this.status === 404 || this.status === 426;
  }
}
