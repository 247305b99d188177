// The cookies of sign-on: the session, a random text that forms are bound to, the mark of a browser in which somebody has signed in, and
// what a way to an issuer is about; and those of the proxy on the URLs of sprites. No script reads them, no form elsewhere sends them.
import type { IncomingMessage } from 'node:http';
import { Secret } from '../../core/secret.ts';

export type CookieName = 'session' | 'form' | 'known' | 'way' | 'url' | 'url-way';

export interface Cookies {
  read(request: Pick<IncomingMessage, 'headers'>, name: CookieName): Secret | undefined;
  /** A value of `Set-Cookie`; undefined = the browser is to forget it. */
  write(name: CookieName, value: Secret | undefined, lifetime_ms: number): string;
}

const values: Readonly<Record<CookieName, RegExp>> = {
  session: /^[\w-]{43}$/,
  form: /^[\w-]{43}$/,
  known: /^[\w-]{43}$/,
  way: /^[\w.-]{1,4000}$/,
  url: /^[\w.-]{1,1000}$/,
  'url-way': /^[\w-]{43}$/,
};

/** Over https the names have the prefix with which browsers take them from this very host only. */
export function createCookies(platformUrl: () => string): Cookies {
  const isSecure = () => platformUrl().startsWith('https:');
  const toName = (name: CookieName) => `${isSecure() ? '__Host-' : ''}remora-${name}`;
  return {
    read({ headers }, name) {
      const start = `${toName(name)}=`;
      const found = (headers.cookie ?? '')
        .split(';')
        .map((pair) => pair.trim())
        .filter((pair) => pair.startsWith(start))
        .map((pair) => pair.slice(start.length));
      const [value, ...others] = found;
      // With two of one name somebody else has set one of them.
      return value === undefined || others.length > 0 || !values[name].test(value) ? undefined : new Secret(value);
    },
    write(name, value, lifetime_ms) {
      const age = value === undefined ? 0 : Math.floor(lifetime_ms / 1_000);
      const secure = isSecure() ? '; Secure' : '';
      return `${toName(name)}=${value?.reveal() ?? ''}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax${secure}`;
    },
  };
}
