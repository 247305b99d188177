// The signature of signed requests (Extensions API, Request signing): HMAC with SHA-256 over the raw bytes, with a shared
// secret. The specification shows no encoding: lower-case hex is emitted; hex in any case, `sha256=` before it, and base64 are
// accepted.
import { timingSafeEqual } from 'node:crypto';
import { hmacSha256 } from './hmac-sha256.ts';
import type { Secret } from './secret.ts';

/** 64 lower-case hex digits. */
export function signContent(secret: Secret, content: string | Uint8Array): string {
  return toDigest(secret, content).toString('hex');
}

/** Compares in constant time. False for anything that is not a signature in one of the accepted encodings. */
export function matchesSignature(secret: Secret, content: string | Uint8Array, given: string): boolean {
  const bytes = toBytes(given.trim());
  return bytes !== undefined && timingSafeEqual(bytes, toDigest(secret, content));
}

function toDigest(secret: Secret, content: string | Uint8Array): Buffer {
  return hmacSha256(secret.reveal(), content);
}

function toBytes(text: string): Buffer | undefined {
  const bare = text.replace(/^sha256=/i, '');
  if (/^[0-9a-f]{64}$/i.test(bare)) return Buffer.from(bare, 'hex');
  if (/^[A-Za-z0-9+/]{43}=$/.test(bare)) return Buffer.from(bare, 'base64');
  return undefined;
}
