// An upstream OpenID provider, where people sign in in place of a password here: its metadata, the way there, and what it says of who came.
import { createHash } from 'node:crypto';
import type { AuthorizationServer, Client } from 'oauth4webapi';
import { RemoraError } from '../../../core/remora-error.ts';
import type { Secret } from '../../../core/secret.ts';
import { isLoopback } from '../../../http/is-loopback.ts';
import type { ProviderFetch } from '../../upstream/provider-fetch.ts';

export interface OpenIdSettings {
  /** The name that its tokens have for it. https, or http on this machine itself. */
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: Secret;
}

/** What one way there and back is bound to. */
export interface OpenIdFlow {
  readonly redirect_uri: string;
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

export interface OpenIdIssuer {
  /** The host that people know it by. */
  readonly name: string;
  /** Where the browser goes. Throws `upstream_failed` and `upstream_timeout`. */
  toAuthorizeUrl(flow: OpenIdFlow): Promise<string>;
  /**
   * The email address of who came back, if the issuer has verified it. `returned`: the query of the way back. Throws `upstream_refused` for
   * everything that does not hold, `upstream_failed` and `upstream_timeout`.
   */
  readEmail(returned: URLSearchParams, flow: OpenIdFlow): Promise<string | undefined>;
}

/** The metadata is asked for again after so long. */
const METADATA_MS = 3_600_000;

/** Throws `not_configured` for an issuer that is no such URL. */
export function createOpenIdIssuer(settings: OpenIdSettings, fetch: ProviderFetch, now_ms: () => number): OpenIdIssuer {
  const issuer = parseIssuer(settings.issuer);
  const client: Client = { client_id: settings.client_id };
  let known: { readonly server: AuthorizationServer; readonly at_ms: number } | undefined;

  async function load() {
    const oauth = await import('oauth4webapi');
    const options = {
      [oauth.allowInsecureRequests]: issuer.protocol === 'http:',
      [oauth.customFetch]: (url: string, init: FetchInit) => call(fetch, url, init),
    };
    return { oauth, options };
  }

  async function readServer(): Promise<AuthorizationServer> {
    if (known !== undefined && now_ms() - known.at_ms < METADATA_MS) return known.server;
    const { oauth, options } = await load();
    const server = await checked(async () =>
      oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options)),
    );
    known = { server, at_ms: now_ms() };
    return server;
  }

  return {
    name: issuer.host,
    async toAuthorizeUrl({ redirect_uri, state, nonce, verifier }) {
      const { authorization_endpoint } = await readServer();
      if (authorization_endpoint === undefined || !URL.canParse(authorization_endpoint)) throw refuse();
      const url = new URL(authorization_endpoint);
      const code_challenge = createHash('sha256').update(verifier).digest('base64url');
      const given = { response_type: 'code', client_id: client.client_id, redirect_uri, scope: 'openid email', state };
      const all = { ...given, nonce, code_challenge, code_challenge_method: 'S256' };
      for (const [name, value] of Object.entries(all)) url.searchParams.set(name, value);
      return url.href;
    },
    async readEmail(returned, { redirect_uri, state, nonce, verifier }) {
      const server = await readServer();
      const { oauth, options } = await load();
      return await checked(async () => {
        const parameters = oauth.validateAuthResponse(server, client, returned, state);
        const auth = oauth.ClientSecretPost(settings.client_secret.reveal());
        const answer = await oauth.authorizationCodeGrantRequest(
          ...([server, client, auth, parameters, redirect_uri, verifier, options] as const),
        );
        const tokens = await oauth.processAuthorizationCodeResponse(server, client, answer, {
          expectedNonce: nonce,
          requireIdToken: true,
        });
        await oauth.validateApplicationLevelSignature(server, answer, options);
        const claims = oauth.getValidatedIdTokenClaims(tokens);
        return typeof claims?.email === 'string' && claims.email_verified === true ? claims.email : undefined;
      });
    },
  };
}

interface FetchInit {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: URLSearchParams | null | undefined;
}

async function call(fetch: ProviderFetch, url: string, { method, headers, body }: FetchInit): Promise<Response> {
  const given = body === undefined || body === null ? {} : { body: body.toString() };
  const answer = await fetch(url, { method: method === 'POST' ? 'POST' : 'GET', headers, ...given });
  return new Response(answer.text, { status: answer.status, headers: { 'content-type': answer.type } });
}

function parseIssuer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (url !== undefined && isSafe && url.search === '' && url.hash === '' && url.username === '') return url;
  throw new RemoraError('not_configured', `the issuer of sign-in must be an https URL, not ${text}`);
}

async function checked<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw cause instanceof RemoraError ? cause : refuse(cause);
  }
}

function refuse(cause?: unknown): RemoraError {
  return new RemoraError('upstream_refused', 'the issuer did not sign anybody in', { cause });
}
