// CRC-32 of each megabyte of a file. A sum finds what a disk or a crash has changed; it is no protection from somebody who may write here.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';

export const BLOCK_BYTES = 1024 * 1024;

export interface FileSums {
  readonly size_bytes: number;
  readonly sums: readonly number[];
}

/** Holds the thread. Ends early at the first block that differs from `expected`. Throws the error of the kernel. */
export function sumFile(path: string, expected?: readonly number[]): FileSums {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const { size } = fstatSync(descriptor);
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    const zeros = Buffer.alloc(BLOCK_BYTES);
    const ofZeros = crc32(zeros);
    const sums: number[] = [];
    for (let at = 0; at < size; at += BLOCK_BYTES) {
      const bytes = block.subarray(0, readWhole(descriptor, block, at));
      // Memory that was never used is zero, and comparing is many times faster than summing.
      const sum = bytes.equals(zeros) ? ofZeros : crc32(bytes);
      sums.push(sum);
      if (expected !== undefined && expected[sums.length - 1] !== sum) break;
    }
    return { size_bytes: size, sums };
  } finally {
    closeSync(descriptor);
  }
}

/** Returns how many bytes there were; fewer than a block at the end of the file only. */
function readWhole(descriptor: number, block: Buffer, at: number): number {
  let filled = 0;
  while (filled < block.length) {
    const read = readSync(descriptor, block, filled, block.length - filled, at + filled);
    if (read === 0) break;
    filled += read;
  }
  return filled;
}
