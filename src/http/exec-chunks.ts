// Writes the frames of a process as chunks of an answer. Clients take each piece that they read for one frame, and some join what has
// come since their last read, so that there is a pause between two chunks. What comes during a pause goes out as one chunk.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { execFrame } from '../contract/processes.ts';
import { Pieces } from '../core/http/pieces.ts';

/** The longest chunk: with its size and line ends it fills one record of TLS, which arrives as a whole. */
const CHUNK_BYTES = 16 * 1024 - 8;
const GAP_MS = 2;
/** The pause before the last chunk: without it the client would miss the exit code. */
const LAST_GAP_MS = 20;
/** How much may wait, and in how many frames of another kind than the one before. */
const AHEAD_BYTES = 64 * 1024;
const AHEAD_RUNS = 64;

/** Neighbours of one kind. */
interface Run {
  readonly kind: number | undefined;
  readonly content: Pieces;
}

export class ExecChunks {
  readonly #response: ServerResponse;
  readonly #waiting: Run[] = [];
  #waiting_bytes = 0;
  #writing: Promise<void> | undefined;
  #written_ms = Number.NEGATIVE_INFINITY;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Resolves when there is room for more. */
  async write(frame: Buffer): Promise<void> {
    const kind = frame[0];
    let run = this.#waiting.at(-1);
    if (run === undefined || run.kind !== kind) {
      run = { kind, content: new Pieces() };
      this.#waiting.push(run);
    }
    run.content.push(frame.subarray(1));
    this.#waiting_bytes += frame.length - 1;
    this.#writing ??= this.#writeAll();
    if (this.#waiting_bytes >= AHEAD_BYTES || this.#waiting.length >= AHEAD_RUNS) await this.#writing;
  }

  /** Ends the answer after what is still to be written. */
  async end(): Promise<void> {
    await this.#writing;
    this.#response.end();
  }

  async #writeAll(): Promise<void> {
    for (let run = this.#waiting.shift(); run !== undefined; run = this.#waiting.shift()) {
      const content = run.content.take();
      this.#waiting_bytes -= content.length;
      const isLast = run.kind === execFrame.exitCode;
      for (const chunk of toChunks(Buffer.concat([Buffer.of(run.kind ?? 0), content]))) {
        await this.#rest(isLast ? LAST_GAP_MS : GAP_MS);
        await this.#writeChunk(chunk);
      }
    }
    this.#writing = undefined;
  }

  /** Resolves so long after the chunk before. */
  async #rest(gap_ms: number): Promise<void> {
    const left_ms = this.#written_ms + gap_ms - performance.now();
    if (left_ms > 0) await sleep(Math.ceil(left_ms));
  }

  async #writeChunk(chunk: Buffer): Promise<void> {
    if (this.#response.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#response.once('close', resolve);
    this.#response.write(chunk, () => resolve());
    await promise;
    this.#response.off('close', resolve);
    this.#written_ms = performance.now();
  }
}

/** The frame in pieces that are frames themselves. */
export function toChunks(frame: Buffer, cap_bytes = CHUNK_BYTES): readonly Buffer[] {
  if (frame.length <= cap_bytes) return [frame];
  const kind = frame.subarray(0, 1);
  const count = Math.ceil((frame.length - 1) / (cap_bytes - 1));
  return Array.from({ length: count }, (_, index) => {
    const start = 1 + index * (cap_bytes - 1);
    return Buffer.concat([kind, frame.subarray(start, start + cap_bytes - 1)]);
  });
}
