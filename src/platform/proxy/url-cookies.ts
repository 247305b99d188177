// The cookies of the proxy on the names that it serves: who is signed on there, and a random text that a way to sign-on is bound to.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { Secret } from '../../core/secret.ts';
import type { Cookies } from '../sign-on/cookies.ts';
import type { FormTokens } from '../sign-on/form-tokens.ts';
import { drawSecret } from '../sign-on/secret-hash.ts';

/** Who is signed on at one name, and by which session at sign-on. */
export interface UrlSession {
  readonly user_id: string;
  readonly session_hash: string;
}

/** A session as a cookie has it. */
export interface ReadUrlSession extends UrlSession {
  /** When it was begun, in Unix milliseconds. */
  readonly since_ms: number;
}

const stored = z.object({ u: z.string(), s: z.string(), e: z.int() });

/** A neighbour on the same site can set a second cookie of the same name over plain HTTP, so that each value is tried. */
export interface UrlCookies {
  /** The cookies as they came; the same text means the same session. */
  readTexts(request: IncomingMessage): readonly string[];
  /** Undefined for a text that is no session, or none of this name. */
  readSession(text: string, name: string): ReadUrlSession | undefined;
  toSession(name: string, session: UrlSession): string;
  readonly endSession: () => string;
  /** A way to sign-on that begins in this browser, and leads back to `path`. */
  beginWay(request: IncomingMessage, name: string, path: string): UrlWay;
  /** Undefined unless it was begun in this browser and at this name. */
  readWay(request: IncomingMessage, name: string, state: string): Omit<UrlWay, 'state' | 'cookies'> | undefined;
}

export interface UrlWay {
  /** RFC 7636, code verifier; its challenge goes with the request. */
  readonly verifier: string;
  readonly state: string;
  readonly path: string;
  /** What the answer sets. */
  readonly cookies: readonly string[];
}

const WAY_MS = 30 * 60_000;
/** The length of a session at sign-on. */
const SESSION_MS = 12 * 3_600_000;
/** The state must fit into a query. */
const PATH_MAX = 1_200;

export function createUrlCookies(cookies: Cookies, tokens: FormTokens, wall_ms: () => number): UrlCookies {
  const toState = (kept: Secret, name: string, text: string) =>
    `${text}.${tokens.create(kept, ['state of a URL', name, text])}`;
  const toVerifier = (kept: Secret, name: string, state: string) =>
    tokens.create(kept, ['verifier of a URL', name, state]);

  return {
    readTexts: (request) => cookies.readAll(request, 'url').map((value) => value.reveal()),
    readSession(value, name) {
      const [text = '', seal = ''] = value.split('.');
      if (!tokens.check(seal, new Secret(text), ['session of a URL', name])) return undefined;
      const read = stored.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))).data;
      if (read === undefined || read.e <= wall_ms()) return undefined;
      return { user_id: read.u, session_hash: read.s, since_ms: read.e - SESSION_MS };
    },
    toSession(name, { user_id, session_hash }) {
      const content = { u: user_id, s: session_hash, e: wall_ms() + SESSION_MS };
      const text = Buffer.from(JSON.stringify(content)).toString('base64url');
      const seal = tokens.create(new Secret(text), ['session of a URL', name]);
      return cookies.write('url', new Secret(`${text}.${seal}`), SESSION_MS);
    },
    endSession: () => cookies.write('url', undefined, 0),
    beginWay(request, name, path) {
      // Several pages of one browser may be on their way at once. Browsers send what was set for one path only first.
      const kept = cookies.readAll(request, 'url-way').at(-1) ?? drawSecret();
      const text = Buffer.from(path.length > PATH_MAX ? '/' : path).toString('base64url');
      const state = toState(kept, name, text);
      // Also one that came: it may have been set for this path only, and does not come with the way back.
      return {
        verifier: toVerifier(kept, name, state),
        state,
        path,
        cookies: [cookies.write('url-way', kept, WAY_MS)],
      };
    },
    readWay(request, name, state) {
      const [text = '', mac = ''] = state.split('.');
      const kept = cookies
        .readAll(request, 'url-way')
        .find((each) => tokens.check(mac, each, ['state of a URL', name, text]));
      if (kept === undefined) return undefined;
      return { verifier: toVerifier(kept, name, state), path: Buffer.from(text, 'base64url').toString('utf8') };
    },
  };
}

/** RFC 7636, Client Creates the Code Challenge, S256. */
export function toChallenge(verifier: string): string {
  return createHash('sha256').update(verifier, 'ascii').digest('base64url');
}
