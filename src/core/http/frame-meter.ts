// The frames of HTTP/2 on their way from a connection to what reads them: they are counted, and small ones are joined.
import type { FrameAllowance } from './frame-allowance.ts';
import { FRAME_HEADER_BYTES, isSmallData, joinDataFrames } from './join-data-frames.ts';

/** Fewer small frames in one read cost too little to join them. */
const FINE_FROM = 32;

export class FrameMeter {
  readonly #allowance: FrameAllowance;
  readonly #onRefused: (reason: string) => void;
  /** The begin of a header, or of a small frame. */
  #begun = EMPTY;
  /** So much of a large frame is still to come. */
  #left_bytes = 0;
  #isFine = false;
  #isRefused = false;

  /** What is kept of a read is a copy, and so is what node:http2 takes. */
  readonly isSpent = true;

  /** `onRefused` runs once; nothing passes any more. */
  constructor(allowance: FrameAllowance, onRefused: (reason: string) => void) {
    this.#allowance = allowance;
    this.#onRefused = onRefused;
  }

  /** True when the last read was cut finely. */
  get isFine(): boolean {
    return this.#isFine;
  }

  /** The bytes to read in place of `read`. */
  push(read: Buffer): Buffer {
    if (this.#isRefused) return EMPTY;
    const bytes = this.#begun.length === 0 ? read : Buffer.concat([this.#begun, read]);
    this.#begun = EMPTY;
    const first = Math.min(this.#left_bytes, bytes.length);
    this.#left_bytes -= first;
    const counted = this.#count(bytes, first);
    if (counted === undefined) return EMPTY;
    const { end, small } = counted;
    // A copy, so that a few bytes do not keep the whole read in memory.
    if (end < bytes.length) this.#begun = Buffer.from(bytes.subarray(end));
    this.#isFine = small >= FINE_FROM;
    if (!this.#isFine) return bytes.subarray(0, end);
    return Buffer.concat([bytes.subarray(0, first), joinDataFrames(bytes.subarray(first, end))]);
  }

  /** Where the frames end that can be passed on, and how many of them are small; undefined when one is refused. */
  #count(bytes: Buffer, from: number): { end: number; small: number } | undefined {
    let at = from;
    let small = 0;
    while (at + FRAME_HEADER_BYTES <= bytes.length) {
      const length_bytes = bytes.readUIntBE(at, 3);
      const [type = 0, flags = 0] = [bytes[at + 3], bytes[at + 4]];
      const end = at + FRAME_HEADER_BYTES + length_bytes;
      const isSmall = isSmallData(type, flags, length_bytes);
      if (isSmall && end > bytes.length) break;
      const refusal = this.#allowance.refusalOf(type, flags, length_bytes);
      if (refusal !== undefined) {
        this.#isRefused = true;
        this.#onRefused(refusal);
        return undefined;
      }
      if (isSmall) small += 1;
      if (end > bytes.length) {
        this.#left_bytes = end - bytes.length;
        return { end: bytes.length, small };
      }
      at = end;
    }
    return { end: at, small };
  }
}

const EMPTY = Buffer.alloc(0);
