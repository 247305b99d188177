// Browsers in which a user has signed in before. Their wrong passwords are counted apart from those of strangers, so that nobody shuts a
// user out of these by guessing, not even from the same address, which behind a reverse proxy is that of everybody.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Secret } from '../../core/secret.ts';
import type { Cookies } from './cookies.ts';

export interface KnownBrowsers {
  /** Whether somebody has signed in with this email address in the browser. */
  isKnown(request: Pick<IncomingMessage, 'headers'>, email: string): boolean;
  /** The value of `Set-Cookie` after somebody has. */
  toCookie(email: string): string;
}

const KNOWN_MS = 180 * 24 * 3_600_000;

export function createKnownBrowsers(key: Buffer, cookies: Cookies): KnownBrowsers {
  const toMark = (email: string) =>
    createHmac('sha256', key).update(email.trim().toLowerCase(), 'utf8').digest('base64url');
  return {
    isKnown(request, email) {
      const shown = cookies.read(request, 'known');
      return shown !== undefined && timingSafeEqual(Buffer.from(shown.reveal()), Buffer.from(toMark(email)));
    },
    toCookie: (email) => cookies.write('known', new Secret(toMark(email)), KNOWN_MS),
  };
}
