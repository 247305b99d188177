// The body of an upstream's answer on its way to the caller: bytes that arrived in one read leave in one write, and a slow
// caller stops the upstream.
import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { freeBytes, WORTH_BYTES } from '../core/free-bytes.ts';
import { Pieces } from '../core/http/pieces.ts';
import { Backlog } from './backlog.ts';

/**
 * How many bytes may wait here for a slow caller. With fewer than two pieces, fast peers would wait for each other at every
 * piece.
 */
const AHEAD_BYTES = 128 * 1024;

export interface AnswerSource {
  pause(): void;
  resume(): void;
}

export class AnswerWriter {
  readonly #response: ServerResponse;
  readonly #backlog: Backlog;
  readonly #source: AnswerSource;
  readonly #onBytes: ((bytes: Buffer) => void) | undefined;
  readonly #pieces = new Pieces();
  #isDue = false;
  #isPaused = false;
  #isEnding = false;

  /** `onBytes` gets the bytes that are written, and must neither keep nor change them. */
  constructor(response: ServerResponse, source: AnswerSource, onBytes?: ((bytes: Buffer) => void) | undefined) {
    this.#response = response;
    this.#source = source;
    this.#onBytes = onBytes;
    this.#backlog = new Backlog(response, AHEAD_BYTES, () => source.resume());
    // Headers alone go out at once, but in one write with a body that came in the same read.
    this.#soon();
  }

  push(piece: Buffer): void {
    this.#pieces.push(piece);
    if (!this.#isDue) this.#soon();
  }

  /** Writes the bytes that have arrived. */
  flush(): void {
    if (this.#pieces.bytes === 0 || this.#response.destroyed) return;
    const bytes = this.#pieces.take();
    if (!this.#backlog.write(bytes, () => this.#free(bytes))) this.#pause();
    this.#onBytes?.(bytes);
  }

  /**
   * Ends the answer with the bytes that have arrived. A few go out with the end, as most answers do as a whole. `isAlone`: no other answer can end in
   * this turn of the event loop, for which this one would wait.
   */
  end(isAlone = false): void {
    const { bytes: size_bytes } = this.#pieces;
    const isSmall = size_bytes > 0 && size_bytes < WORTH_BYTES && !this.#response.destroyed;
    if (!isSmall) this.flush();
    const bytes = isSmall ? this.#pieces.take() : undefined;
    this.#isEnding = true;
    if (isAlone && endings.length === 0) finish(this.#response, bytes);
    else endLater(this.#response, bytes);
    if (bytes !== undefined) this.#onBytes?.(bytes);
  }

  #pause(): void {
    this.#source.pause();
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#response.once('drain', () => {
      this.#isPaused = false;
      this.#source.resume();
    });
  }

  /** A stream of HTTP/2 may say that bytes were written while they are still on their way. */
  #free(bytes: Buffer): void {
    if (this.#response.socket instanceof Socket) freeBytes(bytes);
  }

  #soon(): void {
    this.#isDue = true;
    process.nextTick(AnswerWriter.#onTick, this);
  }

  static #onTick(writer: AnswerWriter): void {
    writer.#isDue = false;
    if (writer.#isEnding) return;
    if (writer.#pieces.bytes > 0) writer.flush();
    else writer.#response.flushHeaders();
  }
}

interface Ending {
  readonly response: ServerResponse;
  readonly bytes: Buffer | undefined;
}

let endings: Ending[] = [];

/**
 * Ends the answer with all others of this turn of the event loop, when it is over: a process that waits for several of them is woken once, which
 * takes the kernel longer than to pass an answer on.
 */
function endLater(response: ServerResponse, bytes: Buffer | undefined): void {
  if (endings.length === 0) setImmediate(endAll);
  endings.push({ response, bytes });
}

function endAll(): void {
  const all = endings;
  endings = [];
  for (const { response, bytes } of all) finish(response, bytes);
}

function finish(response: ServerResponse, bytes: Buffer | undefined): void {
  if (!response.destroyed) response.end(bytes);
}
