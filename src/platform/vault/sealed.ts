// AES-256-GCM over one value, and the bytes that are stored: version, IV, tag, ciphertext. Pure; the IV comes in.
import { createCipheriv, createDecipheriv } from 'node:crypto';

export const IV_BYTES = 12;
const TAG_BYTES = 16;
const HEADER_BYTES = 1 + IV_BYTES + TAG_BYTES;

/** 1: bound to its row. 2: bound to values of the row too. A changed version byte gains nothing, because the bound texts differ. */
export type SealVersion = 1 | 2;

export interface SealOptions {
  readonly key: Uint8Array;
  /** Where the value belongs; it opens nowhere else. */
  readonly place: string;
  readonly version: SealVersion;
}

/** An IV is used once with a key. */
export function seal({ key, place, version }: SealOptions, iv: Uint8Array, value: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(place, 'utf8'));
  const body = Buffer.concat([cipher.update(value), cipher.final()]);
  return Buffer.concat([Buffer.of(version), iv, cipher.getAuthTag(), body]);
}

/** Undefined for what was changed, belongs to another place, has another version, or was closed with another key. */
export function unseal({ key, place, version }: SealOptions, sealed: Uint8Array): Buffer | undefined {
  if (sealed.length < HEADER_BYTES || sealed[0] !== version) return undefined;
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
