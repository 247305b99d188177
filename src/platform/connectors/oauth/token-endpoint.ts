// Asking a provider's token endpoint, through oauth4webapi: exchanging a code, and renewing an authorization.
import {
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  nopkce,
  processAuthorizationCodeResponse,
  processRefreshTokenResponse,
  ResponseBodyError,
  refreshTokenGrantRequest,
  skipStateCheck,
  type TokenEndpointResponse,
  validateAuthResponse,
} from 'oauth4webapi';
import { toErrorMessage } from '../../../core/error-message.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { Secret } from '../../../core/secret.ts';
import type { CatalogueEntry, OAuthSettings } from '../../catalogue/catalogue-entry.ts';
import type { ProviderFetch } from '../../upstream/provider-fetch.ts';
import type { OAuthClient } from './oauth-client.ts';
import { toTokenAnswer } from './token-answer.ts';

export interface OAuthTokens {
  readonly access_token: Secret;
  /** Undefined when the provider sent none; the previous one then stays good. */
  readonly refresh_token: Secret | undefined;
  readonly expires_in_s: number | undefined;
  readonly scope: string | undefined;
  /** The whole answer, from which the account is read. Holds the tokens. */
  readonly answer: Readonly<Record<string, unknown>>;
}

export interface CodeGrant {
  readonly code: string;
  readonly redirect_uri: string;
  readonly verifier: string;
}

/** The provider refused; `code` is the error code of its answer. */
export class RefusedByProvider extends Error {
  override readonly name = 'RefusedByProvider';
  readonly code: string;

  constructor(code: string) {
    super(`the provider answered ${code}`);
    this.code = code;
  }
}

export interface TokenEndpoint {
  /** Both throw `RefusedByProvider`, or `upstream_failed` and `upstream_timeout`. */
  exchange(entry: CatalogueEntry, settings: OAuthSettings, client: OAuthClient, grant: CodeGrant): Promise<OAuthTokens>;
  refresh(
    entry: CatalogueEntry,
    settings: OAuthSettings,
    client: OAuthClient,
    refresh_token: Secret,
  ): Promise<OAuthTokens>;
}

export function createTokenEndpoint(fetch: ProviderFetch): TokenEndpoint {
  function toCall(entry: CatalogueEntry, settings: OAuthSettings, client: OAuthClient) {
    const issuer = new URL(settings.token_url).origin;
    const server: AuthorizationServer = { issuer, token_endpoint: settings.token_url };
    const identity: Client = { client_id: client.client_id };
    const secret = client.client_secret.reveal();
    const auth = settings.client_auth === 'basic' ? ClientSecretBasic(secret) : ClientSecretPost(secret);
    const options = {
      [allowInsecureRequests]: entry.allow_http,
      [customFetch]: async (
        url: string,
        { headers, body }: { headers: Record<string, string>; body: URLSearchParams },
      ) => {
        const answer = await fetch(url, { method: 'POST', headers, body: body.toString() });
        const { status, body: fields } = toTokenAnswer(answer.status, answer.type, answer.text, settings.token_in);
        return Response.json(fields, { status });
      },
    };
    return { server, identity, auth, options };
  }

  return {
    exchange: (entry, settings, client, { code, redirect_uri, verifier }) =>
      toTokens(async () => {
        const { server, identity, auth, options } = toCall(entry, settings, client);
        // The state was checked before, against the organization as well.
        const parameters = validateAuthResponse(server, identity, new URLSearchParams({ code }), skipStateCheck);
        const proof = settings.pkce ? verifier : nopkce;
        const answer = await authorizationCodeGrantRequest(
          server,
          identity,
          auth,
          parameters,
          redirect_uri,
          proof,
          options,
        );
        return await processAuthorizationCodeResponse(server, identity, answer);
      }),
    refresh: (entry, settings, client, refresh_token) =>
      toTokens(async () => {
        const { server, identity, auth, options } = toCall(entry, settings, client);
        const answer = await refreshTokenGrantRequest(server, identity, auth, refresh_token.reveal(), options);
        return await processRefreshTokenResponse(server, identity, answer);
      }),
  };
}

async function toTokens(ask: () => Promise<TokenEndpointResponse>): Promise<OAuthTokens> {
  try {
    const answer = await ask();
    return {
      access_token: new Secret(answer.access_token),
      refresh_token: answer.refresh_token === undefined ? undefined : new Secret(answer.refresh_token),
      expires_in_s: answer.expires_in,
      scope: answer.scope,
      answer,
    };
  } catch (cause) {
    if (cause instanceof RemoraError) throw cause;
    if (cause instanceof ResponseBodyError) {
      // The code is shown to a person: only one plain word is passed on.
      const code = /^[a-z0-9_]{1,64}$/i.test(cause.error) ? cause.error : 'an error';
      if (cause.status < 500) throw new RefusedByProvider(code);
    }
    // The cause of oauth4webapi may hold the whole answer, and with it a token.
    const reason = toErrorMessage(cause);
    throw new RemoraError('upstream_failed', 'the provider gave no token that can be read', {
      cause: new Error(reason),
    });
  }
}
