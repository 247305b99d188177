// Sends the pages of sign-on that belong to the request of a provider.
import type { ServerResponse } from 'node:http';
import type { Membership, User } from '../users/user-store.ts';
import { type Browser, toConsentPurpose, toSignInPurpose } from './browser.ts';
import type { SignOnRequest } from './judge-authorize.ts';
import { toConsentPage, toSignInPage } from './pages.ts';
import { sendPage } from './send-page.ts';

/** What went wrong with the last try. */
export interface SignInProblem {
  readonly status: number;
  readonly text: string;
  /** What was typed. */
  readonly email: string;
  readonly retryAfter_ms?: number;
}

export function showSignIn(
  response: ServerResponse,
  request: SignOnRequest,
  browser: Browser,
  problem?: SignInProblem,
): void {
  const form_token = browser.toFormToken(toSignInPurpose(request));
  const provider = request.client.name;
  sendPage(response, {
    status: problem?.status ?? 200,
    html: toSignInPage({ provider, form_token, email: problem?.email ?? '', problem: problem?.text }),
    formOrigins: toOrigins(request),
    cookies: browser.cookies,
    ...(problem?.retryAfter_ms === undefined ? {} : { retryAfter_ms: problem.retryAfter_ms }),
  });
}

/** `shown`: what the provider will see. */
export function showConsent(
  response: ServerResponse,
  request: SignOnRequest,
  browser: Browser,
  { user, shown }: { readonly user: User; readonly shown: readonly Membership[] },
): void {
  const form_token = browser.toFormToken(toConsentPurpose(request, browser, shown));
  const organizations = shown.map(({ organization }) => organization);
  const returnsTo = new URL(request.redirect_uri).host;
  sendPage(response, {
    status: 200,
    html: toConsentPage({ provider: request.client.name, user, organizations, form_token, returnsTo }),
    formOrigins: toOrigins(request),
    cookies: browser.cookies,
  });
}

/** Where the redirects after a form may lead: to the registered addresses, and from there to the base of the provider. */
function toOrigins({ client }: SignOnRequest): string[] {
  const urls = [...client.redirect_uris, client.base_url];
  return urls.flatMap((url) => (URL.canParse(url) ? [new URL(url).origin] : []));
}
