// Closes a text so that only the key opens it, and only for what it was closed for. AES-256-GCM.
import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import type { Secret } from '../../core/secret.ts';
import { randomBytes } from '../../core/urandom.ts';

const IV_BYTES = 12;
const TAG_BYTES = 16;

export interface Seal {
  /** `place`: what the text belongs to; it opens nowhere else. */
  close(text: string, place: string): Buffer;
  /** Throws when it was changed, or closed with another key or for another place. */
  open(sealed: Uint8Array, place: string): string;
}

/** @param key at least 32 characters that nobody can guess. */
export function createSeal(key: Secret): Seal {
  if (key.reveal().length < 32) throw new TypeError('the key of a seal has fewer than 32 characters');
  const bytes = Buffer.from(hkdfSync('sha256', key.reveal(), '', 'remora provider seal', 32));
  return {
    close(text, place) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', bytes, iv).setAAD(Buffer.from(place));
      const closed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), closed]);
    },
    open(sealed, place) {
      const iv = sealed.subarray(0, IV_BYTES);
      const tag = sealed.subarray(IV_BYTES, IV_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', bytes, iv, { authTagLength: TAG_BYTES });
      decipher.setAAD(Buffer.from(place)).setAuthTag(tag);
      return decipher.update(sealed.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    },
  };
}
