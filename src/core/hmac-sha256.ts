// HMAC with SHA-256 (RFC 2104). `createHmac` makes an object outside the heap for each message, and what the collector has to do for it costs
// more than to hash the few hundred bytes of a signed request. Pure.
import { hash } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER = 0x36;
const OUTER = 0x5c;

/** 32 bytes. Texts count as UTF-8. */
export function hmacSha256(key: string, content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(key, 'utf8');
  const short = bytes.length > BLOCK_BYTES ? toDigest(bytes) : bytes;
  const length = typeof content === 'string' ? Buffer.byteLength(content) : content.length;
  const inner = Buffer.allocUnsafe(BLOCK_BYTES + length);
  const outer = Buffer.allocUnsafe(BLOCK_BYTES + DIGEST_BYTES);
  for (let index = 0; index < BLOCK_BYTES; index += 1) {
    const byte = short[index] ?? 0;
    inner[index] = byte ^ INNER;
    outer[index] = byte ^ OUTER;
  }
  if (typeof content === 'string') inner.write(content, BLOCK_BYTES, 'utf8');
  else inner.set(content, BLOCK_BYTES);
  outer.set(toDigest(inner), BLOCK_BYTES);
  return toDigest(outer);
}

/** Reads the digest as text first: a buffer of its own outside the heap costs more. */
function toDigest(bytes: Uint8Array): Buffer {
  return Buffer.from(hash('sha256', bytes, 'latin1'), 'latin1');
}
