// Single sign-on at extension providers, wired. Nothing of it is loaded further, or asks the database, before the first call.
import type { signOnOperations } from '../contract/sign-on.ts';
import type { Clock } from '../core/clock.ts';
import type { Handlers } from '../http/handler.ts';
import { Agent } from '../http/undici.ts';
import { createExtensionProviders } from './extension-providers/extension-providers.ts';
import type { UserParts } from './open-users.ts';
import type { PlatformOptions } from './platform-options.ts';
import { CODE_MS, createAuthorizeHandlers } from './sign-on/authorize-handlers.ts';
import { createReadBrowser } from './sign-on/browser.ts';
import { createAuthenticateClient } from './sign-on/client-credentials.ts';
import { createCookies } from './sign-on/cookies.ts';
import { createExchangeGrant } from './sign-on/exchange-grant.ts';
import { createFormTokens } from './sign-on/form-tokens.ts';
import { createKnownBrowsers } from './sign-on/known-browsers.ts';
import { createLockOutStore } from './sign-on/lock-out-store.ts';
import { createSessionStore } from './sign-on/session-store.ts';
import { createSignIn } from './sign-on/sign-in.ts';
import { createSignOnStore } from './sign-on/sign-on-store.ts';
import { createSignOutHandlers } from './sign-on/sign-out-handlers.ts';
import { createStartSession } from './sign-on/start-session.ts';
import { createSubmitPassword } from './sign-on/submit-password.ts';
import { createSignOnTokenHandlers } from './sign-on/token-handlers.ts';
import { createOpenIdIssuer, type OpenIdIssuer } from './sign-on/upstream/open-id-issuer.ts';
import { createUpstreamHandlers } from './sign-on/upstream/upstream-handlers.ts';
import { type ReadUrl, withUrlClient } from './sign-on/url-client.ts';
import type { Storage } from './storage/storage.ts';
import type { Principal } from './tokens/principal.ts';
import { createProviderFetch } from './upstream/provider-fetch.ts';
import type { Vault } from './vault/vault.ts';

export interface SignOnDeps {
  readonly storage: Storage;
  readonly vault: Vault;
  readonly userParts: UserParts;
  readonly platformUrl: () => string;
  /** The name of a URL of the proxy, where browsers may be sent back to; undefined without a proxy. */
  readonly readUrl: ReadUrl | undefined;
  readonly clock: Clock;
  readonly options: Pick<PlatformOptions, 'signInRates' | 'signInIssuer' | 'wrongTokens' | 'log'>;
}

const TIDY_EVERY_MS = 1_000;

export function createSignOn(deps: SignOnDeps): Handlers<typeof signOnOperations, Principal> {
  const { storage, vault, clock, platformUrl, options } = deps;
  const { users, passwords } = deps.userParts;
  const clients = withUrlClient(createExtensionProviders({ sql: storage, vault, clock }), deps.readUrl);
  const signOns = createSignOnStore(storage);
  const sessions = createSessionStore(storage);
  const lockOuts = createLockOutStore(storage);

  let tidied_ms = -TIDY_EVERY_MS;
  function tidy(): void {
    const now_ms = clock.mono_ms();
    if (now_ms - tidied_ms < TIDY_EVERY_MS) return;
    tidied_ms = now_ms;
    const wall_ms = clock.wall_ms();
    Promise.all([signOns.forgetExpired(wall_ms), sessions.forgetExpired(wall_ms), lockOuts.forgetOld(wall_ms)]).catch(
      (err: unknown) => options.log.warn({ err }, 'expired sign-ons could not be deleted'),
    );
  }

  const cookies = createCookies(platformUrl);
  const formTokens = createFormTokens(vault.derive('forms of sign-on'));
  const knownBrowsers = createKnownBrowsers(vault.derive('browsers of sign-on'), cookies);
  const readBrowser = createReadBrowser({ sessions, cookies, formTokens, clock });
  const signIn = createSignIn({ users, passwords, lockOuts, clock, rates: options.signInRates });
  const startSession = createStartSession({ sessions, cookies, knownBrowsers, clock });
  const upstream = toUpstream(options, clock);
  const otherWay = upstream?.name;
  const submitPassword = createSubmitPassword({ signIn, startSession, knownBrowsers, otherWay, tidy });
  return {
    ...createAuthorizeHandlers({
      ...{ clients, users, signOns, readBrowser, submitPassword, otherWay, clock, tidy, issuer: platformUrl },
    }),
    ...createUpstreamHandlers({
      issuer: upstream,
      users,
      cookies,
      formTokens,
      startSession,
      platformUrl,
      clock,
      log: options.log,
    }),
    ...createSignOutHandlers({ readBrowser, sessions, cookies }),
    ...createSignOnTokenHandlers({
      clients,
      users,
      signOns,
      authenticateClient: createAuthenticateClient(clients, clock, options.wrongTokens),
      exchangeGrant: createExchangeGrant({ storage, clock, codeLifetime_ms: CODE_MS }),
      platformUrl,
      clock,
      wrongTokens: options.wrongTokens,
    }),
  };
}

/** The operator vouches for it, so that it may be on a private network. No connection stays open between two people. */
function toUpstream({ signInIssuer }: SignOnDeps['options'], clock: Clock): OpenIdIssuer | undefined {
  if (signInIssuer === undefined) return undefined;
  return createOpenIdIssuer(signInIssuer, createProviderFetch(new Agent({ pipelining: 0 })), () => clock.mono_ms());
}
