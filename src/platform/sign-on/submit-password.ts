// What happens when somebody sends the page to sign in: a session and the way on, or the page again.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthorizeForm, AuthorizeQuery } from '../../contract/sign-on.ts';
import type { Clock } from '../../core/clock.ts';
import { Secret } from '../../core/secret.ts';
import { type Browser, toSignInPurpose } from './browser.ts';
import type { Cookies } from './cookies.ts';
import type { SignOnRequest } from './judge-authorize.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import { STALE } from './pages.ts';
import { sendRedirect } from './send-page.ts';
import { SESSION_MS, type SessionStore } from './session-store.ts';
import { showSignIn } from './show-pages.ts';
import type { SignIn } from './sign-in.ts';

export interface SubmitPasswordDeps {
  readonly signIn: SignIn;
  readonly sessions: Pick<SessionStore, 'create' | 'end'>;
  readonly cookies: Cookies;
  readonly knownBrowsers: KnownBrowsers;
  /** Runs now and then, to forget what has expired. */
  readonly tidy: () => void;
  readonly clock: Clock;
}

export interface SubmittedPassword {
  readonly request: IncomingMessage;
  readonly query: AuthorizeQuery;
  readonly body: AuthorizeForm;
}

export type SubmitPassword = (
  submitted: SubmittedPassword,
  response: ServerResponse,
  asked: SignOnRequest,
  browser: Browser,
) => Promise<void>;

/** The same for a wrong name and a wrong password. */
const WRONG = 'The email address or the password is wrong.';

export function createSubmitPassword(deps: SubmitPasswordDeps): SubmitPassword {
  const { signIn, sessions, cookies, knownBrowsers, clock } = deps;
  return async ({ request, query, body }, response, asked, browser) => {
    const { email = '', password = '' } = body;
    const again = (status: number, text: string, more: { readonly retryAfter_ms?: number } = {}) =>
      showSignIn(response, asked, browser, { status, text, email, ...more });
    if (!browser.madeForm(body.form_token, toSignInPurpose(asked))) return again(403, STALE);
    const visitor = { address: request.socket.remoteAddress, isKnown: knownBrowsers.isKnown(request, email) };
    const result = await signIn(email, new Secret(password), visitor);
    deps.tidy();
    switch (result.type) {
      case 'wrong':
        return again(401, WRONG);
      case 'wait': {
        const { retryAfter_ms } = result;
        return again(429, `Too many tries. Please wait ${toWaitText(retryAfter_ms)} and try again.`, { retryAfter_ms });
      }
      case 'user': {
        if (browser.session !== undefined) await sessions.end(browser.session);
        const session = await sessions.create(result.user.id, clock.wall_ms());
        return sendRedirect(response, `/oauth/authorize?${toQueryText(query)}`, [
          cookies.write('session', session, SESSION_MS),
          knownBrowsers.toCookie(email),
          ...browser.cookies,
        ]);
      }
      default:
        return result satisfies never;
    }
  };
}

function toQueryText(query: AuthorizeQuery): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return new URLSearchParams(given).toString();
}

function toWaitText(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  return minutes <= 1 ? 'a minute' : `${minutes} minutes`;
}
