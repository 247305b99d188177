// Writes the frames of a process as chunks of an answer. Clients take each piece that they read for one frame, and some join what has
// come since their last read, so that there is a pause between two chunks.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { execFrame } from '../contract/processes.ts';

/** The longest chunk. */
const CHUNK_BYTES = 4 * 1024;
const GAP_MS = 2;
/** Before the last chunk: without it the client would miss the exit code. */
const LAST_GAP_MS = 20;

export class ExecChunks {
  readonly #response: ServerResponse;
  #last: Promise<void> = Promise.resolve();

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Resolves when the caller has room for more. */
  write(frame: Buffer): Promise<void> {
    this.#last = this.#last.then(() => this.#write(frame));
    return this.#last;
  }

  /** Ends the answer after what is still to be written. */
  end(): void {
    this.#last.then(() => this.#response.end());
  }

  async #write(frame: Buffer): Promise<void> {
    if (frame[0] === execFrame.exitCode) await sleep(LAST_GAP_MS);
    for (const chunk of toChunks(frame)) {
      if (this.#response.destroyed) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#response.once('close', resolve);
      this.#response.write(chunk, () => resolve());
      await promise;
      this.#response.off('close', resolve);
      await sleep(GAP_MS);
    }
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
