// The cookies of sign-on: the session, a random text that forms are bound to, the mark of a browser in which somebody has signed in, and
// what a way to an issuer is about; and those of the proxy on the URLs of sprites. No script reads them, no form elsewhere sends them.
import type { IncomingMessage } from 'node:http';
import { Secret } from '../../core/secret.ts';

export type CookieName = 'session' | 'form' | 'known' | 'way' | 'url' | 'url-way';

export interface Cookies {
  /** Undefined for one that came with two values: somebody else has set one of them. */
  read(request: Pick<IncomingMessage, 'headers'>, name: CookieName): Secret | undefined;
  /** Every value that came, in the order of the browser; the length of the header bounds them. */
  readAll(request: Pick<IncomingMessage, 'headers'>, name: CookieName): readonly Secret[];
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

/** Gives the names over https the prefix with which browsers take them from this very host only. */
export function createCookies(platformUrl: () => string): Cookies {
  const isSecure = () => platformUrl().startsWith('https:');
  const toName = (name: CookieName) => `${isSecure() ? '__Host-' : ''}remora-${name}`;
  const find = ({ headers }: Pick<IncomingMessage, 'headers'>, name: CookieName) => {
    const start = `${toName(name)}=`;
    return (headers.cookie ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(start))
      .map((pair) => pair.slice(start.length));
  };

  return {
    read(request, name) {
      const [value, ...others] = find(request, name);
      return value === undefined || others.length > 0 || !values[name].test(value) ? undefined : new Secret(value);
    },
    readAll: (request, name) =>
      find(request, name)
        .filter((value) => values[name].test(value))
        .map((value) => new Secret(value)),
    write(name, value, lifetime_ms) {
      const age = value === undefined ? 0 : Math.floor(lifetime_ms / 1_000);
      const secure = isSecure() ? '; Secure' : '';
      return `${toName(name)}=${value?.reveal() ?? ''}; Path=/; Max-Age=${age}; HttpOnly; SameSite=Lax${secure}`;
    },
  };
}
