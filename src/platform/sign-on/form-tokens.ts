// Tokens against forged forms: each page of sign-on carries the keyed hash of a random cookie of this browser, of what the page is for,
// and of the session. A page elsewhere knows none of them.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../../core/secret.ts';

export interface FormTokens {
  /** `purpose`: everything that the form is bound to. */
  create(cookie: Secret, purpose: readonly string[]): string;
  check(given: string, cookie: Secret | undefined, purpose: readonly string[]): boolean;
}

export function createFormTokens(key: Buffer): FormTokens {
  const create = (cookie: Secret, purpose: readonly string[]) =>
    createHmac('sha256', key)
      .update(JSON.stringify([cookie.reveal(), ...purpose]))
      .digest('base64url');
  return {
    create,
    check(given, cookie, purpose) {
      if (cookie === undefined) return false;
      const [expected, shown] = [create(cookie, purpose), given].map((text) => Buffer.from(text, 'utf8'));
      return expected !== undefined && expected.length === shown?.length && timingSafeEqual(expected, shown);
    },
  };
}
