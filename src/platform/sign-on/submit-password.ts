// What happens when somebody sends the page to sign in: a session and the way on, or the page again.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AuthorizeForm, AuthorizeQuery } from '../../contract/sign-on.ts';
import { Secret } from '../../core/secret.ts';
import { type Browser, toSignInPurpose } from './browser.ts';
import type { SignOnRequest } from './judge-authorize.ts';
import type { KnownBrowsers } from './known-browsers.ts';
import { STALE } from './pages.ts';
import { showSignIn } from './show-pages.ts';
import type { SignIn } from './sign-in.ts';
import type { StartSession } from './start-session.ts';

export interface SubmitPasswordDeps {
  readonly signIn: SignIn;
  readonly startSession: StartSession;
  readonly knownBrowsers: Pick<KnownBrowsers, 'isKnown'>;
  /** See `showSignIn`. */
  readonly otherWay: string | undefined;
  /** Runs now and then, to forget what has expired. */
  readonly tidy: () => void;
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
  const { signIn, startSession, knownBrowsers, otherWay } = deps;
  return async ({ request, query, body }, response, asked, browser) => {
    const { email = '', password = '' } = body;
    const again = (status: number, text: string, more: { readonly retryAfter_ms?: number } = {}) =>
      showSignIn(response, asked, browser, otherWay, { status, text, email, ...more });
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
      case 'user':
        return await startSession(request, response, result.user, query, browser.cookies);
      default:
        return result satisfies never;
    }
  };
}

function toWaitText(ms: number): string {
  const minutes = Math.ceil(ms / 60_000);
  return minutes <= 1 ? 'a minute' : `${minutes} minutes`;
}
