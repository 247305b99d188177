// A cookie that only this provider can have made: what it says, until when, and a signature over both.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { type Clock, systemClock } from '../../core/clock.ts';
import type { Secret } from '../../core/secret.ts';

export interface SignedCookieOptions {
  /** Each has at least 16 characters that nobody can guess; there are two while it is changed, the newest first. */
  readonly secrets: () => readonly Secret[];
  /** Keeps cookies for one thing from being taken for another. */
  readonly purpose: string;
  /** Only requests below this path carry it. */
  readonly path: string;
  /** Only over TLS. */
  readonly isSecure: boolean;
  readonly kept_s: number;
  readonly clock?: Clock;
}

export interface SignedCookie {
  /** A value for `Set-Cookie`. It is readable by its browser: no secret of others belongs into it. */
  set(name: string, value: unknown): string;
  /** The value that the header `Cookie` has under this name; undefined when there is none, or it is old or forged. */
  read(header: string | undefined, name: string): unknown;
  /** A value for `Set-Cookie` that ends the cookie. */
  end(name: string): string;
}

export function createSignedCookie(options: SignedCookieOptions): SignedCookie {
  const { path, isSecure, kept_s, purpose, clock = systemClock } = options;
  // Lax: the browser comes back from the platform by a link.
  const attributes = `Path=${path}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;

  function sign(secret: Secret, text: string): Buffer {
    const key = hkdfSync('sha256', secret.reveal(), '', `remora provider cookie ${purpose}`, 32);
    return createHmac('sha256', Buffer.from(key)).update(text).digest();
  }

  return {
    set(name, value) {
      const [secret] = options.secrets();
      if (secret === undefined || secret.reveal().length < 16) throw new TypeError('a cookie needs a longer secret');
      const until_s = Math.floor(clock.wall_ms() / 1_000) + kept_s;
      const text = Buffer.from(JSON.stringify([until_s, value])).toString('base64url');
      const signature = sign(secret, `${name}.${text}`).toString('base64url');
      return `${name}=${text}.${signature}; ${attributes}; Max-Age=${kept_s}`;
    },
    read(header, name) {
      const given = readCookies(header).get(name);
      const [text = '', signature = ''] = given?.split('.') ?? [];
      const bytes = Buffer.from(signature, 'base64url');
      const holds = options.secrets().some((secret) => {
        const wanted = sign(secret, `${name}.${text}`);
        return wanted.length === bytes.length && timingSafeEqual(wanted, bytes);
      });
      if (!holds) return undefined;
      const [until_s, value]: [number, unknown] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
      return until_s * 1_000 > clock.wall_ms() ? value : undefined;
    },
    end: (name) => `${name}=; ${attributes}; Max-Age=0`,
  };
}

/** The cookies of a header by their names; of two with one name the first, which is that of the longer path. */
export function readCookies(header: string | undefined): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const pair of header?.split(';') ?? []) {
    const at = pair.indexOf('=');
    const name = pair.slice(0, at).trim();
    if (at > 0 && !found.has(name)) found.set(name, pair.slice(at + 1).trim());
  }
  return found;
}
