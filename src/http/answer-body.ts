// The body of an answer as a stream: its upstream sends at the pace of its reader, and is let go when the stream is destroyed.
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';

/** A rest that is longer is not worth the connection that it comes over. */
const DUMP_MAX_BYTES = 128 * 1024;

export class AnswerBody extends Readable {
  readonly #controller: Dispatcher.DispatchController;
  #isWhole = false;

  constructor(controller: Dispatcher.DispatchController) {
    super();
    this.#controller = controller;
    // It may break before its reader is there, who finds the error in it.
    this.on('error', () => undefined);
  }

  pass(bytes: Buffer): void {
    if (!this.push(bytes)) this.#controller.pause();
  }

  /** All of it was passed. */
  finish(): void {
    this.#isWhole = true;
    this.push(null);
  }

  /** Drops the rest of it, or the connection where that is long. Resolves when it is over; never rejects. */
  dump(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    let rest_bytes = DUMP_MAX_BYTES;
    this.on('data', ({ length }: Buffer) => {
      rest_bytes -= length;
      if (rest_bytes < 0) this.destroy();
    });
    if (this.closed) resolve();
    else this.on('close', resolve);
    return promise;
  }

  override _read(): void {
    this.#controller.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.#isWhole) this.#controller.abort(error ?? new Error('nobody reads the answer any more'));
    done(error);
  }
}
