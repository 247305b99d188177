// The only source of randomness. In-process generators are part of a memory snapshot and repeat in every machine restored
// from it; reads of /dev/urandom do not (resume.md, section 2). This is the one file of core that touches the world.
import { openSync, readSync } from 'node:fs';

let descriptor: number | undefined;

/** `length` bytes of the kernel's randomness. Throws when /dev/urandom cannot be read. */
export function randomBytes(length: number): Buffer {
  descriptor ??= openSync('/dev/urandom', 'r');
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const read = readSync(descriptor, bytes, filled, length - filled, null);
    if (read === 0) throw new Error("/dev/urandom has ended; it is not the kernel's");
    filled += read;
  }
  return bytes;
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
