// The first and the last bytes of a stream, copied while it passes. The memory is bounded, and small for a small stream: a
// slice of the stream would keep the whole read buffer behind it alive.

const FIRST_BYTES = 512;

export interface StreamEnds {
  push(chunk: Uint8Array): void;
  /** One text when all of it was kept, else the beginning and the end. */
  texts(): readonly [string] | readonly [string, string];
}

export function createStreamEnds(head_bytes: number, tail_bytes: number): StreamEnds {
  const head = createGrowing(head_bytes);
  const tail = createGrowing(2 * tail_bytes);
  let isCut = false;

  return {
    push(chunk) {
      const free = head_bytes - head.length;
      if (free > 0) head.append(chunk.subarray(0, free));
      if (chunk.length <= free) return;
      const rest = chunk.subarray(Math.max(0, free));
      const last = rest.subarray(Math.max(0, rest.length - tail_bytes));
      isCut ||= last.length < rest.length;
      if (tail.length + last.length > 2 * tail_bytes) {
        tail.keepLast(tail_bytes);
        isCut = true;
      }
      tail.append(last);
    },
    texts() {
      return isCut ? [head.text(), tail.text()] : [head.text() + tail.text()];
    },
  };
}

function createGrowing(max_bytes: number) {
  let buffer = Buffer.alloc(0);
  let length = 0;
  return {
    get length() {
      return length;
    },
    /** The caller makes sure that the chunk fits into `max_bytes`. */
    append(chunk: Uint8Array) {
      if (length + chunk.length > buffer.length) {
        const size = Math.min(max_bytes, Math.max(FIRST_BYTES, 2 * buffer.length, length + chunk.length));
        const larger = Buffer.allocUnsafeSlow(size);
        buffer.copy(larger, 0, 0, length);
        buffer = larger;
      }
      buffer.set(chunk, length);
      length += chunk.length;
    },
    keepLast(count: number) {
      buffer.copyWithin(0, Math.max(0, length - count), length);
      length = Math.min(length, count);
    },
    text: () => buffer.toString('latin1', 0, length),
  };
}
