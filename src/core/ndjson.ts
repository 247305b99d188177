// Splits byte chunks into lines. A chunk may be cut anywhere, also inside a character; lines end with LF or CRLF, and blank
// ones are skipped. One line has a limit, so that a peer that never sends a newline cannot grow memory.
//
// A package for this, split2, is fast enough for lines that end (`npm run bench:framing`), and the benchmark shows why lines of
// another machine are not read with it: it looks at a line again from its beginning with each piece that comes, so that a line of
// 1 MiB in small pieces takes seconds of a core, where this takes milliseconds.

export const LINE_LIMIT_BYTES = 1024 * 1024;
const FIRST_HELD_BYTES = 4 * 1024;
const LF = 0x0a;
const CR = 0x0d;

/** A line had more bytes than the limit. The framer that threw it must not be used again. */
export class LineTooLongError extends Error {
  override readonly name = 'LineTooLongError';
  readonly limit_bytes: number;

  constructor(limit_bytes: number) {
    super(`a line has more than ${limit_bytes} bytes`);
    this.limit_bytes = limit_bytes;
  }
}

export interface LineFramer {
  /** Passes on every line that is complete now, in order. Throws LineTooLongError after the lines before the long one. */
  push(chunk: Uint8Array, onLine: (line: string) => void): void;
  /** The bytes after the last newline: a whole line without its newline, or one that was cut. Empty when there are none. */
  end(): string;
}

export function createLineFramer(limit_bytes = LINE_LIMIT_BYTES): LineFramer {
  let held = Buffer.alloc(0);
  let length = 0;

  function hold(bytes: Buffer): void {
    const needed = length + bytes.length;
    if (needed > limit_bytes) {
      held = Buffer.alloc(0);
      length = 0;
      throw new LineTooLongError(limit_bytes);
    }
    if (needed > held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.min(limit_bytes, Math.max(FIRST_HELD_BYTES, needed * 2)));
      held.copy(larger, 0, 0, length);
      held = larger;
    }
    bytes.copy(held, length);
    length = needed;
  }

  function takeLine(): string {
    const line = toText(held, 0, length);
    length = 0;
    return line;
  }

  return {
    push(chunk, onLine) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let start = 0;
      for (let stop = bytes.indexOf(LF); stop >= 0; stop = bytes.indexOf(LF, start)) {
        let line: string;
        if (length === 0) {
          if (stop - start > limit_bytes) throw new LineTooLongError(limit_bytes);
          line = toText(bytes, start, stop);
        } else {
          hold(bytes.subarray(start, stop));
          line = takeLine();
        }
        start = stop + 1;
        if (!isBlank(line)) onLine(line);
      }
      if (start < bytes.length) hold(bytes.subarray(start));
    },
    end() {
      const line = takeLine();
      return isBlank(line) ? '' : line;
    },
  };
}

function toText(bytes: Buffer, start: number, stop: number): string {
  return bytes.toString('utf8', start, stop > start && bytes[stop - 1] === CR ? stop - 1 : stop);
}

function isBlank(line: string): boolean {
  return line === '' || (line.charCodeAt(0) <= 0x20 && line.trim() === '');
}
