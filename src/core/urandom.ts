// The only source of randomness. In-process generators are part of a memory snapshot and repeat in every machine restored from
// it, and without a generation driver so does /dev/urandom for a while. This is the one file of core that touches the world.
import { openSync, readSync } from 'node:fs';
import { createEntropyPool } from './entropy-pool.ts';

/** Counts of the machine's own interrupts and processes. */
const COUNTER_FILES = ['/proc/interrupts', '/proc/stat'];
/** The first lines hold what counts fastest. */
const COUNTER_BYTES = 4 * 1024;
const COUNTERS_EVERY_NS = 1_000_000_000n;
/** The time between two readings of the counters is at least this many times the cost of one: 0.05 % of a core. */
const COUNTERS_SHARE = 2_000n;

let urandom: number | undefined;
let counterFiles: readonly number[] | undefined;
let countersDue_ns = 0n;
const chunk = Buffer.alloc(COUNTER_FILES.length * COUNTER_BYTES);

const pool = createEntropyPool({
  kernel(buffer) {
    urandom ??= openSync('/dev/urandom', 'r');
    let filled = 0;
    while (filled < buffer.length) {
      const read = readSync(urandom, buffer, filled, buffer.length - filled, null);
      if (read === 0) throw new Error("/dev/urandom has ended; it is not the kernel's");
      filled += read;
    }
  },
  clock_ns: () => process.hrtime.bigint(),
  counters() {
    const begun_ns = process.hrtime.bigint();
    if (begun_ns < countersDue_ns) return undefined;
    counterFiles ??= COUNTER_FILES.flatMap(openQuietly);
    let filled = 0;
    for (const file of counterFiles) filled += readQuietly(file, filled);
    const now_ns = process.hrtime.bigint();
    const share_ns = (now_ns - begun_ns) * COUNTERS_SHARE;
    countersDue_ns = now_ns + (share_ns > COUNTERS_EVERY_NS ? share_ns : COUNTERS_EVERY_NS);
    return chunk.subarray(0, filled);
  },
});

/** `length` random bytes. Throws when /dev/urandom cannot be read. */
export function randomBytes(length: number): Buffer {
  return pool.draw(length);
}

/**
 * Every later draw of this process also depends on these bytes, such as the nonce that a platform sends to this machine and to
 * no copy of it.
 */
export function mixEntropy(bytes: Uint8Array): void {
  pool.mix(bytes);
}

/** The next draw reads the machine's counters, however recent the last reading is: time stands still in a snapshot. */
export function renewEntropy(): void {
  countersDue_ns = 0n;
}

/** `length` random bytes as lower-case hex, two characters a byte. */
export function randomHex(length: number): string {
  return randomBytes(length).toString('hex');
}

/** `length` random bytes as base64url text, for tokens. */
export function randomToken(length: number): string {
  return randomBytes(length).toString('base64url');
}

/** A number in [0, 1) with 48 random bits. */
export function randomFraction(): number {
  return randomBytes(6).readUIntBE(0, 6) / 2 ** 48;
}

/** A machine without /proc goes without the counters. */
function openQuietly(path: string): number[] {
  try {
    return [openSync(path, 'r')];
  } catch {
    return [];
  }
}

function readQuietly(file: number, at: number): number {
  try {
    return readSync(file, chunk, at, COUNTER_BYTES, 0);
  } catch {
    return 0;
  }
}
