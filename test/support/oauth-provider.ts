// A provider with OAuth, of a test: its token endpoint, its account, its revocation and an interface that wants the token. It checks what
// RFC 6749 and RFC 7636 have a server check, and answers in the form that the test asks for.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import type { NewCatalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import type { OAuthClient } from '../../src/platform/connectors/oauth/oauth-client.ts';

/** `github`: forms, and 200 with an error. `slack`: `ok`, and the token of a person in `authed_user`. */
export type AnswerStyle = 'standard' | 'github' | 'slack';

export interface OAuthProviderState {
  style: AnswerStyle;
  expires_in: number | undefined;
  /** The name of the account that the next token belongs to. */
  account: string;
  /** What is answered to a refresh instead; `invalid_grant`, or a status. */
  refreshFailure: string | number | undefined;
  /** Awaited before a refresh is answered. */
  beforeRefresh: () => Promise<void>;
  /** Whether a new refresh token comes with each refresh, and the old one ends. */
  rotates: boolean;
}

export interface OAuthProvider {
  readonly origin: string;
  readonly state: OAuthProviderState;
  /** What a user does with an authorization URL: agrees. Returns the code. */
  agree(authorize_url: string): string;
  /** Calls of the token endpoint that were answered, also where nobody heard it. */
  answered(): number;
  readonly tokenCalls: readonly Readonly<Record<string, string>>[];
  readonly revoked: readonly string[];
  /** The tokens with which the interface was called. */
  readonly used: readonly string[];
  /** A refresh token that is good now, as another process would have got it. */
  entry(provider: string, oauth?: Partial<NonNullable<NewCatalogueEntry['oauth']>>): NewCatalogueEntry;
  client(provider: string, redirect_uris?: readonly string[]): OAuthClient;
}

interface Grant {
  readonly challenge: string | null;
  readonly redirect_uri: string | null;
  readonly scope: string;
}

export async function startOAuthProvider(): Promise<OAuthProvider> {
  const codes = new Map<string, Grant>();
  const access = new Set<string>();
  const renewals = new Map<string, string>();
  const tokenCalls: Record<string, string>[] = [];
  const revoked: string[] = [];
  const used: string[] = [];
  let made = 0;
  let answered = 0;
  const state: OAuthProviderState = {
    style: 'standard',
    expires_in: undefined,
    account: 'u1',
    refreshFailure: undefined,
    beforeRefresh: async () => undefined,
    rotates: true,
  };

  function issue(scope: string): Record<string, unknown> {
    made += 1;
    const access_token = `at-${made}-${randomUUID()}`;
    const refresh_token = `rt-${made}-${randomUUID()}`;
    access.add(access_token);
    renewals.set(refresh_token, scope);
    const { expires_in, style, account } = state;
    const ends = expires_in === undefined ? {} : { expires_in, refresh_token };
    if (style === 'slack') {
      const authed_user = {
        id: `person-${account}`,
        access_token: `${access_token}-person`,
        token_type: 'user',
        scope,
        ...ends,
      };
      access.add(authed_user.access_token);
      const team = { id: `team-${account}`, name: 'Acme' };
      return { ok: true, access_token, token_type: 'bot', scope, team, authed_user, ...ends };
    }
    return { access_token, token_type: 'bearer', scope, workspace: { id: account }, ...ends };
  }

  function answer(response: ServerResponse, status: number, body: Record<string, unknown>): void {
    if (state.style === 'github') {
      const form = new URLSearchParams(Object.entries(body).map(([name, value]) => [name, String(value)]));
      response.writeHead(200, { 'content-type': 'application/x-www-form-urlencoded' }).end(form.toString());
      return;
    }
    const isSlackError = state.style === 'slack' && status >= 400;
    response.writeHead(isSlackError ? 200 : status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isSlackError ? { ok: false, ...body } : body));
  }

  async function onToken(form: Record<string, string>, response: ServerResponse): Promise<void> {
    tokenCalls.push(form);
    if (form.client_id !== 'client-1' || form.client_secret !== 'client-secret-1') {
      return answer(response, 401, { error: 'invalid_client' });
    }
    if (form.grant_type === 'refresh_token') {
      await state.beforeRefresh();
      const { refreshFailure } = state;
      if (typeof refreshFailure === 'number') return void response.writeHead(refreshFailure).end();
      const scope = renewals.get(form.refresh_token ?? '');
      if (refreshFailure !== undefined || scope === undefined) {
        return answer(response, 400, { error: refreshFailure ?? 'invalid_grant' });
      }
      if (state.rotates) renewals.delete(form.refresh_token ?? '');
      return answer(response, 200, issue(scope));
    }
    const grant = codes.get(form.code ?? '');
    codes.delete(form.code ?? '');
    const proof = createHash('sha256')
      .update(form.code_verifier ?? '')
      .digest('base64url');
    if (grant === undefined || grant.redirect_uri !== form.redirect_uri || (grant.challenge ?? proof) !== proof) {
      return answer(response, 400, { error: state.style === 'github' ? 'bad_verification_code' : 'invalid_grant' });
    }
    answer(response, 200, issue(grant.scope));
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '');
    switch (request.url) {
      case '/token':
        await onToken(Object.fromEntries(new URLSearchParams(body)), response);
        answered += 1;
        return;
      case '/revoke':
        revoked.push(new URLSearchParams(body).get('token') ?? token);
        return void response.writeHead(200).end();
      case '/applications/client-1/token':
        revoked.push(JSON.parse(body).access_token);
        return void response.writeHead(204).end();
      default: {
        used.push(token);
        const status = access.has(token) ? 200 : 401;
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ id: 42, login: state.account }));
      }
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    state,
    answered: () => answered,
    tokenCalls,
    revoked,
    used,
    agree(authorize_url) {
      const { searchParams: query } = new URL(authorize_url);
      const code = `code-${randomUUID()}`;
      codes.set(code, {
        challenge: query.get('code_challenge'),
        redirect_uri: query.get('redirect_uri'),
        scope: query.get('scope') ?? query.get('user_scope') ?? '',
      });
      return code;
    },
    entry: (provider, oauth = {}) => ({
      provider,
      display_name: provider,
      description: 'a provider of a test',
      address: { type: 'fixed', url: origin },
      injection: { in: 'header', name: 'x-api-key', prefix: '' },
      allow_http: true,
      sample_path: '/user',
      oauth: {
        authorize_url: `${origin}/authorize`,
        token_url: `${origin}/token`,
        revocation: { style: 'rfc7009', url: `${origin}/revoke` },
        scopes: ['read', 'write'],
        account: { from: 'api', path: '/user', id: 'login', name: 'login' },
        ...oauth,
      },
    }),
    client: (provider, redirect_uris = []) => ({
      provider,
      client_id: 'client-1',
      client_secret: new Secret('client-secret-1'),
      redirect_uris,
    }),
  };
}
