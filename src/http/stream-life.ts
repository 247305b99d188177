// Where the stream to one reader stands: its keep-alive, the grace for what is still to be read, and who is told once that it is over.
//
//   idle ──open──▶ open ──finish──▶ ending ──all read, or the grace is over──▶ closed

/** What carries the stream. */
interface Carrier {
  destroy(): unknown;
  once(event: 'close', listener: () => void): unknown;
}

export interface StreamLifeOptions {
  /** How long the reader has to take what is waiting for it once the stream is finished. */
  readonly grace_ms: number;
  /** Told of what an `onClose` listener throws. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

export class StreamLife {
  readonly #options: StreamLifeOptions;
  readonly #listeners: (() => void)[] = [];
  #keepAlive: NodeJS.Timeout | undefined;
  #state: 'idle' | 'open' | 'ending' | 'closed' = 'idle';

  constructor(options: StreamLifeOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** Nothing more can be sent. */
  get isOver(): boolean {
    return this.#state === 'ending' || this.#state === 'closed';
  }

  /** False when it was opened before, or is over. */
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

  /** An open stream says its last with `sayLast`; `carrier` is destroyed if it has not closed when the grace is over. */
  finish(carrier: Carrier, sayLast: () => void): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    clearInterval(this.#keepAlive);
    sayLast();
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
