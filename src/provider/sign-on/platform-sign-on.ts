// The platform's side of a sign-on, as a client of OAuth 2.0: a code for a token, and who its bearer is (Extensions API, Sign-on).
import { signOnOperations, type TokenInfo, tokenInfo } from '../../contract/sign-on.ts';
import { parseBoundedJson } from '../../core/bounded-json.ts';
import { toErrorMessage } from '../../core/error-message.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Secret } from '../../core/secret.ts';
import { withoutLastSlashes } from '../../core/without-last-slashes.ts';
import { readCapped } from '../received-request.ts';

const CALL_LIMIT_MS = 10_000;
const ANSWER_CAP_BYTES = 256 * 1024;

export interface PlatformSignOnOptions {
  readonly platformAuthUrl: string;
  readonly clientId: string;
  readonly clientSecret: () => Secret;
  readonly redirectUri: string;
}

export interface PlatformSignOn {
  /** Where a browser signs on. */
  authorizeUrl(flow: { readonly state: string; readonly challenge: string; readonly organization_id: string }): string;
  /**
   * Who has signed on. Throws `unauthorized` when the platform refuses the code, and `upstream_failed` or `upstream_timeout` when it
   * cannot be asked or says what cannot be read.
   */
  identify(query: URLSearchParams, flow: { readonly state: string; readonly verifier: string }): Promise<TokenInfo>;
}

export function createPlatformSignOn(options: PlatformSignOnOptions): PlatformSignOn {
  const { clientId, clientSecret, redirectUri } = options;
  const issuer = withoutLastSlashes(options.platformAuthUrl);
  const isPlain = new URL(issuer).protocol === 'http:';
  const server = { issuer, token_endpoint: issuer + signOnOperations.exchangeToken.path };
  const client = { client_id: clientId };

  /** Loaded at the first sign-on. */
  async function exchange(query: URLSearchParams, { state, verifier }: { state: string; verifier: string }) {
    const oauth = await import('oauth4webapi');
    const parameters = oauth.validateAuthResponse(server, client, query, state);
    const answer = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.ClientSecretPost(clientSecret().reveal()),
      parameters,
      redirectUri,
      verifier,
      {
        [oauth.allowInsecureRequests]: isPlain,
        [oauth.customFetch]: (url, { method, headers, body }) => call(url, { method, headers, body: String(body) }),
      },
    );
    try {
      return (await oauth.processAuthorizationCodeResponse(server, client, answer)).access_token;
    } catch (error) {
      if (!(error instanceof oauth.ResponseBodyError)) throw error;
      throw new RemoraError('unauthorized', 'the platform did not take the code; begin again', {
        cause: new Error(error.error),
      });
    }
  }

  async function introspect(token: string): Promise<TokenInfo> {
    const answer = await call(issuer + signOnOperations.readTokenInfo.path, {
      headers: { authorization: `Bearer ${token}` },
    });
    if (!answer.ok) throw new Error(`the platform answered ${answer.status} to the introspection`);
    const info = tokenInfo.parse(parseBoundedJson(await answer.text()));
    if (info.application.uid !== clientId) throw new Error('the token is that of another application');
    return info;
  }

  return {
    authorizeUrl({ state, challenge, organization_id }) {
      const query = new URLSearchParams({
        client_id: clientId,
        response_type: 'code',
        redirect_uri: redirectUri,
        scope: 'read',
        organization_id,
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      });
      return `${issuer}${signOnOperations.authorizeSignOn.path}?${query}`;
    },
    async identify(query, flow) {
      try {
        return await introspect(await exchange(query, flow));
      } catch (error) {
        if (error instanceof RemoraError && error.code === 'unauthorized') throw error;
        // The cause of a library's error may hold the whole answer, and with it a token.
        const cause = new Error(toErrorMessage(error));
        const isLate = error instanceof Error && error.name === 'TimeoutError';
        throw isLate
          ? new RemoraError('upstream_timeout', 'the platform did not answer in time', { cause })
          : new RemoraError('upstream_failed', 'the platform could not be asked who signed on', { cause });
      }
    },
  };
}

/** One call whose answer is read within a cap. No redirect is followed: it would carry the credential elsewhere. */
async function call(url: string, init: RequestInit): Promise<Response> {
  const answer = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(CALL_LIMIT_MS) });
  const limits = { cap_bytes: ANSWER_CAP_BYTES, limit_ms: CALL_LIMIT_MS };
  const body = answer.body === null ? undefined : await readCapped(answer.body, limits);
  return new Response(body === undefined ? null : Buffer.from(body), {
    status: answer.status,
    headers: answer.headers,
  });
}
