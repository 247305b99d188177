// Who calls from which browser, and whether a form was made for this one.
import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../core/clock.ts';
import type { Secret } from '../../core/secret.ts';
import type { Membership, User } from '../users/user-store.ts';
import type { Cookies } from './cookies.ts';
import type { FormTokens } from './form-tokens.ts';
import type { SignOnRequest } from './judge-authorize.ts';
import { drawSecret } from './secret-hash.ts';
import type { SessionStore } from './session-store.ts';

export interface Browser {
  readonly session: Secret | undefined;
  readonly user: User | undefined;
  /** Makes a token for a form of a page that is shown now; `purpose` is everything that the form is bound to. */
  toFormToken(purpose: readonly string[]): string;
  /** Whether the form came from such a page. */
  madeForm(form_token: string, purpose: readonly string[]): boolean;
  /** What the page sets. */
  readonly cookies: readonly string[];
}

export interface BrowserDeps {
  readonly sessions: Pick<SessionStore, 'findUser'>;
  readonly cookies: Cookies;
  readonly formTokens: FormTokens;
  readonly clock: Clock;
}

export type ReadBrowser = (request: IncomingMessage) => Promise<Browser>;

const FORM_MS = 24 * 3_600_000;

export function createReadBrowser({ sessions, cookies, formTokens, clock }: BrowserDeps): ReadBrowser {
  return async (request) => {
    const session = cookies.read(request, 'session');
    const known = cookies.read(request, 'form');
    const form = known ?? drawSecret();
    return {
      session,
      user: session === undefined ? undefined : await sessions.findUser(session, clock.wall_ms()),
      toFormToken: (purpose) => formTokens.create(form, purpose),
      madeForm: (form_token, purpose) => isSameSite(request) && formTokens.check(form_token, known, purpose),
      cookies: known === undefined ? [cookies.write('form', form, FORM_MS)] : [],
    };
  };
}

export function toSignInPurpose({ client }: SignOnRequest): string[] {
  return ['sign in', client.client_id];
}

/** A page of consent is good for what it shows, to whom it shows it, and for nothing else. */
export function toConsentPurpose(
  request: SignOnRequest,
  { session }: Browser,
  memberships: readonly Pick<Membership, 'organization_id'>[],
): string[] {
  const { client, redirect_uri, state = '', organization_id = '', code_challenge = '' } = request;
  const asked = [client.client_id, redirect_uri, state, organization_id, code_challenge];
  return ['consent', session?.reveal() ?? '', ...asked, ...memberships.map((each) => each.organization_id)];
}

export function toSignOutPurpose({ session }: Browser): string[] {
  return ['sign out', session?.reveal() ?? ''];
}

/** Browsers say where a form comes from; programs that say nothing are held by the token of the form. */
function isSameSite({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site'];
  return site === undefined || site === 'same-origin' || site === 'none';
}
