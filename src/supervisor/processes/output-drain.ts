// Reads the pipes of a process that has ended to their end. What it has left running in the background may hold them open: then the
// output is over once nothing more comes, after a second or two at the latest. What comes later is read and dropped, so that the background
// is not stopped by a full pipe.

import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const QUIET_MS = 250;
const POLL_MS = 50;
/** So many looks at a process that goes on printing in the background; meanwhile far more is read than a pipe can hold. */
const LOOKS = 20;
/** More than two pipes of the largest size hold, with what is read ahead of them: what comes after it was printed after the end. */
const ENOUGH_BYTES = 4 * 1024 * 1024;

export class OutputDrain {
  readonly #streams: readonly Readable[];
  /** Resolves when nothing holds the pipes open any more. */
  readonly ended: Promise<unknown>;
  #isPaused = false;
  #isOver = false;
  #active_ms = performance.now();
  #read_bytes = 0;

  constructor(streams: readonly Readable[]) {
    this.#streams = streams;
    this.ended = Promise.all(streams.map((stream) => new Promise<void>((resolve) => stream.once('close', resolve))));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  onData(bytes: number): void {
    this.#active_ms = performance.now();
    this.#read_bytes += bytes;
  }

  pause(): void {
    if (this.#isOver) return;
    this.#isPaused = true;
    for (const stream of this.#streams) stream.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.onData(0);
    for (const stream of this.#streams) stream.resume();
  }

  /** Call it when the process has ended. Resolves when the output is over. */
  async finish(): Promise<void> {
    this.onData(0);
    this.#read_bytes = 0;
    await Promise.race([this.ended, this.#untilQuiet()]);
    this.#isOver = true;
  }

  /** Reads nothing more. */
  release(): void {
    for (const stream of this.#streams) stream.destroy();
  }

  async #untilQuiet(): Promise<void> {
    for (
      let looks = 0;
      this.#isPaused || performance.now() - this.#active_ms < QUIET_MS;
      looks += this.#isPaused ? 0 : 1
    ) {
      // A caller who reads slowly has it paused most of the time, so that time alone would not end it.
      if (looks === LOOKS || this.#read_bytes > ENOUGH_BYTES) return;
      if (this.#streams.every((stream) => stream.destroyed)) return;
      await sleep(POLL_MS);
    }
  }
}
