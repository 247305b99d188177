// Sends the pages of sign-on that belong to the request of a provider.
import type { ServerResponse } from 'node:http';
import type { Membership, User } from '../users/user-store.ts';
import { type Browser, toConsentPurpose, toSignInPurpose } from './browser.ts';
import type { SignOnRequest } from './judge-authorize.ts';
import { toConsentPage, toSignInPage } from './pages.ts';
import { sendPage } from './send-page.ts';
import { toQueryText } from './start-session.ts';

/** What went wrong with the last try. */
export interface SignInProblem {
  readonly status: number;
  readonly text: string;
  /** What was typed. */
  readonly email: string;
  readonly retryAfter_ms?: number;
}

/** `otherWay`: the host of an issuer where people can sign in instead; undefined without one. */
export function showSignIn(
  response: ServerResponse,
  request: SignOnRequest,
  browser: Browser,
  otherWay: string | undefined,
  problem?: SignInProblem,
): void {
  const form_token = browser.toFormToken(toSignInPurpose(request));
  const provider = request.client.name;
  const other = otherWay === undefined ? undefined : { name: otherWay, path: toSignInPath(request) };
  sendPage(response, {
    status: problem?.status ?? 200,
    html: toSignInPage({ provider, form_token, email: problem?.email ?? '', problem: problem?.text, other }),
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

/** Where signing in at the issuer begins, for the same request. */
function toSignInPath({ client, redirect_uri, state, organization_id, code_challenge }: SignOnRequest): string {
  const proof = code_challenge === undefined ? {} : { code_challenge, code_challenge_method: 'S256' };
  const asked = { client_id: client.client_id, response_type: 'code', redirect_uri, state, organization_id, ...proof };
  return `/oauth/sign-in?${toQueryText(asked)}`;
}
