// Where the stream to one reader stands: its keep-alive, the grace for its last bytes, and which listeners run once it is over.
//
//   idle ──open──▶ open ──finish──▶ ending ──all read, or the grace is over──▶ closed

/** The response or socket that carries the stream. */
interface Carrier {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export interface StreamStateOptions {
  /** How long the reader has to take the waiting bytes once the stream is finished. */
  readonly grace_ms: number;
  /** Gets the errors that an `onClose` listener throws. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export class StreamState {
  readonly #options: StreamStateOptions;
  readonly #listeners: (() => void)[] = [];
  #keepAlive: NodeJS.Timeout | undefined;
  #state: 'idle' | 'open' | 'ending' | 'closed' = 'idle';

  constructor(options: StreamStateOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** True when nothing more can be sent. */
  get isOver(): boolean {
    return this.#state === 'ending' || this.#state === 'closed';
  }

  /** Opens the stream. False when it was opened before, or is over. */
  open(): boolean {
    if (this.#state !== 'idle') return false;
    this.#state = 'open';
    return true;
  }

  /** Runs `tick` every `period_ms` until the stream is over; Infinity = never. */
  keepAlive(period_ms: number, tick: () => void): void {
    if (!Number.isFinite(period_ms)) return;
    this.#keepAlive = setInterval(tick, period_ms);
    this.#keepAlive.unref();
  }

  /**
   * Finishes an open stream: `writeLast` writes its last bytes, and `carrier` is destroyed if it has not closed when the grace
   * is over.
   */
  finish(carrier: Carrier, writeLast: () => void): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    clearInterval(this.#keepAlive);
    writeLast();
    const deadline = setTimeout(() => carrier.destroy(), this.#options.grace_ms);
    deadline.unref();
    carrier.once('close', () => clearTimeout(deadline));
    this.#notify();
  }

  /** The carrier is gone, or never carried the stream. */
  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearInterval(this.#keepAlive);
    this.#notify();
  }

  /** Runs once, when the reader is gone or the stream is over; at once when that is already so. */
  onClose(listener: () => void): void {
    this.#listeners.push(listener);
    if (this.isOver) this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners.splice(0)) {
      try {
        listener();
      } catch (error) {
        this.#options.onError?.(error);
      }
    }
  }
}
