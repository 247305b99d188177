// Begins a session in a browser whose user is known, and goes on with the request that asked for it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthorizeQuery } from '../../contract/sign-on.ts';
import type { Clock } from '../../core/clock.ts';
import type { User } from '../users/user-store.ts';
import type { Cookies } from './cookies.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import { sendRedirect } from './send-page.ts';
import { SESSION_MS, type SessionStore } from './session-store.ts';

export interface StartSessionDeps {
  readonly sessions: Pick<SessionStore, 'create' | 'end'>;
  readonly cookies: Cookies;
  readonly knownBrowsers: Pick<KnownBrowsers, 'toCookie'>;
  readonly clock: Clock;
}

/** `more`: further cookies to set. A session that the browser had before ends. */
export type StartSession = (
  request: IncomingMessage,
  response: ServerResponse,
  user: User,
  query: AuthorizeQuery,
  more: readonly string[],
) => Promise<void>;

export function createStartSession({ sessions, cookies, knownBrowsers, clock }: StartSessionDeps): StartSession {
  return async (request, response, user, query, more) => {
    const before = cookies.read(request, 'session');
    if (before !== undefined) await sessions.end(before);
    const session = await sessions.create(user.id, clock.wall_ms());
    sendRedirect(response, `/oauth/authorize?${toQueryText(query)}`, [
      cookies.write('session', session, SESSION_MS),
      knownBrowsers.toCookie(user.email),
      ...more,
    ]);
  };
}

/** The query as it came, with the fields that are known. */
export function toQueryText(query: AuthorizeQuery): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return new URLSearchParams(given).toString();
}
