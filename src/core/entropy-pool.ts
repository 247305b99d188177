// A pool that never relies on one source of randomness. Machines restored from one snapshot hold the same pool and may read the
// same bytes from the kernel for up to a minute; their clocks and counters differ, and once they differ so does the pool.
import { hash } from 'node:crypto';

/** The readings of the clock in one draw. Two machines run each of them in a different number of nanoseconds. */
const CLOCK_READINGS = 16;
const KERNEL_BYTES = 64;
/**
 * Half of a SHA-512 stays in the pool, the other half is the result of the draw. Neither half reveals anything of the other.
 */
const HALF_BYTES = 32;

export interface EntropySources {
  /** Fills the buffer with the kernel's randomness. Throws when it cannot. */
  kernel(buffer: Uint8Array): void;
  /** The monotonic clock, in nanoseconds. */
  clock_ns(): bigint;
  /** Counts of events that differ between two machines. Undefined when there is nothing new. */
  counters(): Uint8Array | undefined;
}

export interface EntropyPool {
  /** `length` bytes. Throws when the kernel's randomness cannot be read. */
  draw(length: number): Buffer;
  /** Every later draw depends on these bytes. Bytes that an attacker chose never make a draw weaker. */
  mix(bytes: Uint8Array): void;
}

/** Every draw hashes the pool, the kernel's bytes, readings of the clock and the counters, and leaves a new pool behind. */
export function createEntropyPool(sources: EntropySources): EntropyPool {
  const kernel = Buffer.alloc(KERNEL_BYTES);
  /** The first field is the number of the draw. */
  const readings_ns = new BigUint64Array(1 + CLOCK_READINGS);
  let pool = Buffer.alloc(HALF_BYTES);
  let draws = 0n;

  function absorb(kind: string, parts: readonly Uint8Array[]): Buffer {
    const digest = hash('sha512', Buffer.concat([Buffer.from(kind), pool, ...parts]), 'buffer');
    pool = digest.subarray(0, HALF_BYTES);
    return digest.subarray(HALF_BYTES);
  }

  return {
    draw(length) {
      sources.kernel(kernel);
      for (let n = 1; n <= CLOCK_READINGS; n += 1) readings_ns[n] = sources.clock_ns();
      readings_ns[0] = draws;
      draws += 1n;
      const readings = new Uint8Array(readings_ns.buffer);
      const counters = sources.counters();
      const key = absorb('draw', counters === undefined ? [kernel, readings] : [kernel, readings, counters]);
      return length <= HALF_BYTES ? Buffer.from(key.subarray(0, length)) : expand(key, length);
    },
    mix(bytes) {
      absorb('mix', [bytes]);
    },
  };
}

/** Stretches the key to `length` bytes: SHA-512 over the key and a block number, for as many blocks as are needed. */
function expand(key: Buffer, length: number): Buffer {
  const blocks: Buffer[] = [];
  const block = Buffer.concat([Buffer.from('more'), key, Buffer.alloc(4)]);
  for (let filled = 0; filled < length; filled += 64) {
    block.writeUInt32LE(blocks.length, block.length - 4);
    blocks.push(hash('sha512', block, 'buffer'));
  }
  return Buffer.concat(blocks, length);
}
