// AES-256-GCM over one value, and the bytes that are stored: version, IV, tag, ciphertext. Pure; the IV comes in.
import { createCipheriv, createDecipheriv } from 'node:crypto';

export const IV_BYTES = 12;
const TAG_BYTES = 16;
const VERSION = 1;
const HEADER_BYTES = 1 + IV_BYTES + TAG_BYTES;

/** `place` says where the value belongs; the result opens nowhere else. An IV is used once with a key. */
export function seal(key: Uint8Array, iv: Uint8Array, place: string, value: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(place, 'utf8'));
  const body = Buffer.concat([cipher.update(value), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), body]);
}

/** Undefined for what was changed, belongs to another place, or was closed with another key. */
export function unseal(key: Uint8Array, place: string, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION) return undefined;
  const iv = sealed.subarray(1, 1 + IV_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(place, 'utf8'));
  decipher.setAuthTag(sealed.subarray(1 + IV_BYTES, HEADER_BYTES));
  try {
    return Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES)), decipher.final()]);
  } catch {
    return undefined;
  }
}
