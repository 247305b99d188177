// The checksum of a database as a LiteFS node reports it: CRC-64/ISO over each page's number and bytes, all pages xored
// together, the top bit set. The order of the pages does not matter, so the sum can be updated for a single changed page.

/** The reflected polynomial of CRC-64/ISO has bits only in its upper half, so every table entry has as well. */
const POLYNOMIAL_HIGH = 0xd8000000;
const TABLE = makeTable();

/** 64 bits as two halves: bigints are about fifty times slower here. */
export interface Checksum {
  readonly high: number;
  readonly low: number;
}

export const emptyChecksum: Checksum = { high: 0, low: 0 };

/** The checksum of one page, `number` counting from 1. */
export function toPageChecksum(number: number, page: Uint8Array): Checksum {
  const prefix = new Uint8Array(4);
  new DataView(prefix.buffer).setUint32(0, number);
  return toCrc64(prefix, page);
}

/** CRC-64/ISO of the parts, concatenated. */
export function toCrc64(...parts: readonly Uint8Array[]): Checksum {
  let high = 0xffffffff;
  let low = 0xffffffff;
  for (const part of parts) {
    for (const byte of part) {
      const entry = TABLE[(low ^ byte) & 0xff] ?? 0;
      low = (low >>> 8) | (high << 24);
      high = (high >>> 8) ^ entry;
    }
  }
  return { high: ~high >>> 0, low: ~low >>> 0 };
}

/** Adds a page to the sum, or takes it out again. */
export function xorChecksum(a: Checksum, b: Checksum): Checksum {
  return { high: (a.high ^ b.high) >>> 0, low: (a.low ^ b.low) >>> 0 };
}

/** 16 lower-case hex digits with the top bit set, as `postApplyChecksum` carries it. */
export function toChecksumText(sum: Checksum): string {
  const high = (sum.high | 0x80000000) >>> 0;
  return high.toString(16).padStart(8, '0') + sum.low.toString(16).padStart(8, '0');
}

function makeTable(): Uint32Array {
  const table = new Uint32Array(256);
  for (let index = 0; index < 256; index += 1) {
    // Eight steps move the lowest bits of the index out; what they leave behind lies in the upper half.
    let high = 0;
    let low = index;
    for (let bit = 0; bit < 8; bit += 1) {
      const out = low & 1;
      low = (low >>> 1) | (high << 31);
      high = (high >>> 1) ^ (out === 1 ? POLYNOMIAL_HIGH : 0);
    }
    table[index] = high;
  }
  return table;
}
