// Exchanges a code or a refresh token for tokens. The library reads the grant and checks the code verifier; the model below says what is
// good, by the clock of the platform and in the database. A second use of either ends the sign-on with everything that came of it.
import type OAuth2Server from '@node-oauth/oauth2-server';
import type { TokenForm, TokenResponse } from '../../contract/sign-on.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { Secret } from '../../core/secret.ts';
import type { Storage } from '../storage/storage.ts';
import { drawSecret, toSecretHash } from './secret-hash.ts';
import type { SignOnClient } from './sign-on-client.ts';
import { createSignOnStore, type SignOn } from './sign-on-store.ts';

export interface ExchangeGrantDeps {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly codeLifetime_ms: number;
}

/** Throws `invalid_request`, `invalid_grant`, `invalid_scope` and `unsupported_grant_type`. The client was authenticated. */
export type ExchangeGrant = (client: SignOnClient, form: TokenForm) => Promise<TokenResponse>;

export const ACCESS_MS = 7_200_000;
export const REFRESH_MS = 30 * 24 * 3_600_000;
const GRANTS = ['authorization_code', 'refresh_token'];
const SCOPE = ['read'];
/** A code from a future that is farther away was made before the clock was set back. */
const FUTURE_MS = 5_000;

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel;

export function createExchangeGrant(deps: ExchangeGrantDeps): ExchangeGrant {
  return async (client, form) => {
    // The library knows more grants than it is used for here.
    if (form.grant_type && !GRANTS.includes(form.grant_type)) {
      throw refuse('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token');
    }
    const { default: Server } = await import('@node-oauth/oauth2-server');
    const grant = new Grant(deps, client, form);
    const server = new Server({
      model: grant.toModel(),
      accessTokenLifetime: ACCESS_MS / 1_000,
      refreshTokenLifetime: REFRESH_MS / 1_000,
    });
    try {
      await server.token(toRequest(Server, form), new Server.Response());
    } catch (error) {
      throw grant.failure ?? toRemoraError(error);
    }
    if (grant.made === undefined) throw refuseGrant();
    return grant.made;
  };
}

/** The secret was checked already: the library only looks whether there is one. */
function toRequest(Server: typeof OAuth2Server, form: TokenForm): OAuth2Server.Request {
  const given = Object.entries(form).filter(([, value]) => value !== undefined);
  const body = { ...Object.fromEntries(given), client_id: 'authenticated', client_secret: 'authenticated' };
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'transfer-encoding': 'chunked' };
  return new Server.Request({ method: 'POST', headers, query: {}, body });
}

/** One exchange. */
class Grant {
  readonly #deps: ExchangeGrantDeps;
  readonly #client: SignOnClient;
  readonly #form: TokenForm;
  #signOn: SignOn | undefined;
  #refresh_hash: string | undefined;
  made: TokenResponse | undefined;
  /** What the model threw; the library would hide it behind an error of its own. */
  failure: unknown;

  constructor(deps: ExchangeGrantDeps, client: SignOnClient, form: TokenForm) {
    this.#deps = deps;
    this.#client = client;
    this.#form = form;
  }

  toModel(): Model {
    const client = { id: this.#client.client_id, grants: GRANTS, redirectUris: [...this.#client.redirect_uris] };
    const noted =
      <A extends unknown[], T>(work: (...given: A) => Promise<T>) =>
      async (...given: A): Promise<T> => {
        try {
          return await work(...given);
        } catch (error) {
          this.failure = error;
          throw error;
        }
      };
    return {
      getClient: async () => client,
      getAccessToken: async () => undefined,
      generateAccessToken: async () => drawSecret().reveal(),
      generateRefreshToken: async () => drawSecret().reveal(),
      getAuthorizationCode: noted(async (code) => {
        const found = await this.#findByCode(new Secret(code));
        if (found === undefined) return undefined;
        const { redirect_uri: redirectUri, code_challenge, user_id } = found;
        const proof = code_challenge === null ? {} : { codeChallenge: code_challenge, codeChallengeMethod: 'S256' };
        const base = { authorizationCode: code, expiresAt: later(), redirectUri, scope: SCOPE, client, ...proof };
        return { ...base, user: { id: user_id } };
      }),
      saveAuthorizationCode: async () => undefined,
      revokeAuthorizationCode: noted(() => this.#useCode()),
      getRefreshToken: noted(async (refreshToken) => {
        const found = await this.#findByRefresh(new Secret(refreshToken));
        return found && { refreshToken, scope: SCOPE, client, user: { id: found.user_id } };
      }),
      // It is marked with the new token in one transaction, so that a crash in between costs nobody the sign-on.
      revokeToken: async () => true,
      saveToken: noted(async (token, _client, user) => {
        await this.#save(new Secret(token.accessToken), new Secret(token.refreshToken ?? ''));
        return { ...token, client, user };
      }),
    };
  }

  async #findByCode(code: Secret): Promise<SignOn | undefined> {
    const { storage, clock, codeLifetime_ms } = this.#deps;
    const store = createSignOnStore(storage);
    const found = await store.findByCode(toSecretHash(code));
    if (found === undefined || found.client_id !== this.#client.client_id) return undefined;
    if (found.exchanged_at !== null) {
      await store.end(found.id);
      return undefined;
    }
    const age_ms = clock.wall_ms() - found.created_at;
    if (age_ms >= codeLifetime_ms || age_ms < -FUTURE_MS) return undefined;
    this.#signOn = found;
    return found;
  }

  /** The code is used up by a wrong verifier and by a wrong address too, so that neither can be guessed. */
  async #useCode(): Promise<boolean> {
    const signOn = this.#signOn;
    if (signOn === undefined) return false;
    const store = createSignOnStore(this.#deps.storage);
    const isFirst = await store.markExchanged(signOn.id, this.#deps.clock.wall_ms());
    if (!isFirst) await store.end(signOn.id);
    return isFirst && this.#form.redirect_uri === signOn.redirect_uri;
  }

  async #findByRefresh(refresh: Secret): Promise<SignOn | undefined> {
    const { storage, clock } = this.#deps;
    const store = createSignOnStore(storage);
    const hash = toSecretHash(refresh);
    const found = await store.findByRefresh(hash);
    if (found === undefined || found.sign_on.client_id !== this.#client.client_id) return undefined;
    if (found.refreshed_at !== null) {
      await store.end(found.sign_on.id);
      return undefined;
    }
    if (found.refresh_expires_at <= clock.wall_ms()) return undefined;
    this.#signOn = found.sign_on;
    this.#refresh_hash = hash;
    return found.sign_on;
  }

  async #save(access: Secret, refresh: Secret): Promise<void> {
    const { storage, clock } = this.#deps;
    const signOn = this.#signOn;
    if (signOn === undefined) throw refuseGrant();
    const now_ms = clock.wall_ms();
    const hashes = { access_hash: toSecretHash(access), refresh_hash: toSecretHash(refresh) };
    const times = { access_expires_at: now_ms + ACCESS_MS, refresh_expires_at: now_ms + REFRESH_MS };
    const isSaved = await storage.transaction(async (sql) => {
      const store = createSignOnStore(sql);
      if (this.#refresh_hash !== undefined && !(await store.markRefreshed(this.#refresh_hash, now_ms))) {
        await store.end(signOn.id);
        return false;
      }
      return await store.addToken(signOn.id, { ...hashes, ...times, created_at: now_ms });
    });
    if (!isSaved) throw refuseGrant();
    this.made = {
      access_token: access.reveal(),
      token_type: 'Bearer',
      expires_in: ACCESS_MS / 1_000,
      refresh_token: refresh.reveal(),
      scope: SCOPE.join(' '),
      created_at: Math.floor(now_ms / 1_000),
    };
  }
}

/** The library compares with the clock of the process; what has expired by the clock of the platform was refused before. */
function later(): Date {
  return new Date(Date.now() + 60_000);
}

function refuseGrant(): RemoraError {
  return refuse('invalid_grant', 'the code or the refresh token is wrong, used, expired, or of another client');
}

function refuse(code: 'invalid_grant' | (typeof codes)[number], message: string): RemoraError {
  return new RemoraError(code, message, { fields: { error_description: message } });
}

const codes = ['invalid_request', 'invalid_scope', 'unsupported_grant_type'] as const;

function toRemoraError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  if (error.name === 'invalid_grant') return refuseGrant();
  const code = codes.find((known) => known === error.name);
  if (code === undefined) return error;
  return refuse(code, error.message);
}
