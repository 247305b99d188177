// The part of sign-on that happens in the browser: the request of a provider, signing in, consent, and the way back.
import type { ServerResponse } from 'node:http';
import type { AuthorizeQuery, signOnOperations } from '../../contract/sign-on.ts';
import type { Clock } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Principal } from '../tokens/principal.ts';
import type { Membership, User, UserStore } from '../users/user-store.ts';
import { type Browser, type ReadBrowser, toConsentPurpose } from './browser.ts';
import { judgeAuthorize, type SignOnRequest, toFaultLocation, toLocation } from './judge-authorize.ts';
import { STALE, toMessagePage } from './pages.ts';
import { drawSecret, toSecretHash } from './secret-hash.ts';
import { sendPage, sendRedirect } from './send-page.ts';
import { showConsent, showSignIn } from './show-pages.ts';
import type { SignOnClients } from './sign-on-client.ts';
import type { SignOnStore } from './sign-on-store.ts';
import type { SubmitPassword } from './submit-password.ts';
import { drawUrlCode } from './url-code.ts';

export interface AuthorizeHandlerDeps {
  readonly clients: Pick<SignOnClients, 'findByClientId'>;
  readonly users: Pick<UserStore, 'listMemberships'>;
  readonly signOns: Pick<SignOnStore, 'create' | 'listConsents' | 'addConsents'>;
  readonly readBrowser: ReadBrowser;
  readonly submitPassword: SubmitPassword;
  /** The platform's own address. */
  readonly issuer: () => string;
  /** See `showSignIn`. */
  readonly otherWay: string | undefined;
  readonly clock: Clock;
  /** Runs now and then, to forget what has expired. */
  readonly tidy: () => void;
}

type Operations = Pick<typeof signOnOperations, 'authorizeSignOn' | 'submitSignOn'>;

/** How long an authorization code is good. */
export const CODE_MS = 60_000;

export function createAuthorizeHandlers(deps: AuthorizeHandlerDeps): Handlers<Operations, Principal> {
  const { clients, users, signOns, readBrowser, clock } = deps;

  /** The request if there is one to go on with; else the answer is sent. */
  async function open(query: AuthorizeQuery, response: ServerResponse): Promise<SignOnRequest | undefined> {
    const { client_id } = query;
    const client = client_id === undefined ? undefined : await clients.findByClientId(client_id, query.redirect_uri);
    const judged = judgeAuthorize(query, client, deps.issuer());
    if (judged.type === 'request') return judged.request;
    if (judged.type === 'fault') sendRedirect(response, judged.location);
    else sendPage(response, { status: 400, html: toMessagePage('This sign-on cannot go on', judged.message) });
    return undefined;
  }

  async function listShown(user: User, { organization_id }: SignOnRequest): Promise<readonly Membership[]> {
    const all = await users.listMemberships(user.id);
    return organization_id === undefined ? all : all.filter((each) => each.organization_id === organization_id);
  }

  async function issueCode(
    response: ServerResponse,
    user: User,
    request: SignOnRequest,
    code = drawSecret(),
  ): Promise<void> {
    const { client, redirect_uri, organization_id = null, code_challenge = null } = request;
    const now_ms = clock.wall_ms();
    await signOns.create({
      client_id: client.client_id,
      user_id: user.id,
      organization_id,
      redirect_uri,
      code_challenge,
      created_at: now_ms,
      code_hash: toSecretHash(code),
      expires_at: now_ms + CODE_MS,
    });
    deps.tidy();
    sendRedirect(response, toLocation(request, { code: code.reveal() }));
  }

  /** Consent where it was not given yet for all that is shown, else the way back. */
  async function goOn(response: ServerResponse, request: SignOnRequest, browser: Browser, user: User): Promise<void> {
    const { session } = browser;
    if (request.client.isOwn === true && session !== undefined) {
      return await issueCode(response, user, request, drawUrlCode(session));
    }
    const shown = await listShown(user, request);
    if (shown.length === 0) return deny(response, request, 'the user is not a member of the organization');
    const consents = await signOns.listConsents(user.id, request.client.name);
    if (shown.every(({ organization_id }) => consents.has(organization_id))) {
      return await issueCode(response, user, request);
    }
    showConsent(response, request, browser, { user, shown });
  }

  return {
    async authorizeSignOn({ query, request }, response) {
      const asked = await open(query, response);
      if (asked === undefined) return;
      const browser = await readBrowser(request);
      if (browser.user === undefined) showSignIn(response, asked, browser, deps.otherWay);
      else await goOn(response, asked, browser, browser.user);
    },
    async submitSignOn({ query, body, request }, response) {
      const asked = await open(query, response);
      if (asked === undefined) return;
      const browser = await readBrowser(request);
      if (body.action === 'sign_in') {
        return await deps.submitPassword({ request, query, body }, response, asked, browser);
      }
      const { user } = browser;
      if (user === undefined) {
        return showSignIn(response, asked, browser, deps.otherWay, { status: 401, text: STALE, email: '' });
      }
      const shown = await listShown(user, asked);
      if (!browser.madeForm(body.form_token, toConsentPurpose(asked, browser, shown))) {
        sendPage(response, { status: 403, html: toMessagePage('This page is not good any more', STALE) });
        return;
      }
      if (body.action === 'deny') return deny(response, asked, 'the user denied it');
      const ids = shown.map(({ organization_id }) => organization_id);
      await signOns.addConsents(user.id, asked.client.name, ids, clock.wall_ms());
      await goOn(response, asked, browser, user);
    },
  };
}

function deny(response: ServerResponse, request: SignOnRequest, text: string): void {
  sendRedirect(response, toFaultLocation(request, 'access_denied', text));
}
