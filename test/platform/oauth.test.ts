// Connectors by OAuth, against a provider that checks what providers check.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { NewCatalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { openTestPlatform, type TestPlatformOptions } from '../support/open-platform.ts';

type OAuthChange = Partial<NonNullable<NewCatalogueEntry['oauth']>>;

async function openWithOAuth(oauth: OAuthChange = {}, options: TestPlatformOptions = {}) {
  const provider = await startOAuthProvider();
  const platform = await openTestPlatform({
    catalogue: [provider.entry('hub', oauth), provider.entry('hub2', oauth)],
    oauthClients: [provider.client('hub', ['https://app.example/back']), provider.client('hub2')],
    ...options,
  });
  const authorize = (query = '', token = platform.token, name = 'hub') =>
    platform.call({ path: `/v1/oauth/${name}/authorize${query}`, token });
  const finish = (body: unknown, token = platform.token, name = 'hub') =>
    platform.call({ method: 'POST', path: `/v1/oauth/${name}/callback`, body, token });
  /** All of it, as a user who agrees. */
  async function connect(query = '', more: object = {}) {
    const { json } = await authorize(query);
    return await finish({ code: provider.agree(json.authorize_url), state: json.state, ...more });
  }
  return { provider, platform, authorize, finish, connect };
}

describe('an authorization URL', () => {
  test('has the client, the scopes, a state of its own, PKCE with S256, and the callback of the platform', async () => {
    const { platform, provider, authorize } = await openWithOAuth({ parameters: { access_type: 'offline' } });
    const { status, json } = await authorize();
    expect(status).toBe(200);
    const url = new URL(json.authorize_url);
    expect(url.origin + url.pathname).toBe(`${provider.origin}/authorize`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'client-1',
      redirect_uri: `${platform.url}/v1/oauth/hub/callback`,
      scope: 'read write',
      state: json.state,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
      access_type: 'offline',
    });
    expect((await authorize()).json.state).not.toBe(json.state);
  });

  test('has no PKCE where the provider takes none, and separates scopes as it wants them', async () => {
    const { authorize } = await openWithOAuth({ pkce: false, scope_separator: ',', scope_parameter: 'user_scope' });
    const { searchParams } = new URL((await authorize()).json.authorize_url);
    expect(searchParams.has('code_challenge')).toBe(false);
    expect(searchParams.get('user_scope')).toBe('read,write');
  });

  test('takes scopes in the place of the defaults, and adds to what was granted before', async () => {
    const { authorize, connect } = await openWithOAuth();
    const scope = async (query: string) =>
      new URL((await authorize(query)).json.authorize_url).searchParams.get('scope');
    expect(await scope('?scopes=admin,read')).toBe('admin read');
    expect(await scope('?add_scopes=admin')).toBe('read write admin');
    await connect('?scopes=admin');
    expect(await scope('?add_scopes=mail,admin')).toBe('admin mail');
    expect(await scope('?scopes=read&add_scopes=mail')).toBe('read mail');
    expect((await authorize('?scopes=a%22b')).json.details.fields[0].field).toBe('query.scopes');
  });

  const refused = [
    ['?redirect_uri=https://app.example/back/', 'query.redirect_uri'],
    ['?redirect_uri=https://app.example/back?x=1', 'query.redirect_uri'],
    ['?redirect_uri=https://APP.example/back', 'query.redirect_uri'],
    ['?redirect_uri=http://evil.example/', 'query.redirect_uri'],
    ['?state=a%20b', 'query.state'],
  ] as const;
  test.each(refused)('is refused for %s', async (query, field) => {
    const { authorize } = await openWithOAuth();
    const answer = await authorize(query);
    expect([answer.status, answer.json.details.fields[0].field]).toEqual([400, field]);
  });

  test('of a provider without OAuth, without a client here, or that is none is 400', async () => {
    const { authorize, platform } = await openWithOAuth();
    for (const name of ['openai', 'github', 'nobody', '__proto__']) {
      const answer = await authorize('', platform.token, name);
      expect([answer.status, answer.json.details.fields[0].field], name).toEqual([400, 'path.provider']);
    }
  });
});

describe('authorizations that are begun and not finished', () => {
  test('need a token with full access, and are so many at the most for each token', async () => {
    const { platform, provider, authorize, finish } = await openWithOAuth();
    const reader = await platform.admin.createToken({ organization: 'acme', access: 'read' });
    expect((await authorize('', reader)).json).toMatchObject({ error: 'read_only' });
    const [looping, other] = [platform.token, await platform.admin.createToken({ organization: 'acme' })];
    const first = (await authorize('', looping)).json;
    const statuses = new Set<number>();
    for (let round = 0; round < 260; round += 1) statuses.add((await authorize('', looping)).status);
    expect([...statuses]).toEqual([200, 429]);
    const refused = await authorize('', looping);
    expect(refused.json.message).toContain('with this token');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await authorize('', other)).status).toBe(200);
    const done = await finish({ code: provider.agree(first.authorize_url), state: first.state }, looping);
    expect(done.status).toBe(201);
    expect((await authorize('', looping)).status).toBe(200);
  });
});

describe('a callback', () => {
  test('makes a connector whose tokens are nowhere but in calls to the provider', async () => {
    const { platform, provider, connect } = await openWithOAuth();
    provider.state.expires_in = 3_600;
    const answer = await connect('', { access_policy: { allow_all: true } });
    expect(answer.status).toBe(201);
    const { connection } = answer.json;
    expect(connection).toMatchObject({
      provider: 'hub',
      provider_account_id: 'u1',
      provider_account_name: 'u1',
      connection_type: 'oauth',
      scopes: 'read,write',
      access_policy: { allow_all: true },
      token_expires_at: expect.any(String),
    });
    const left_ms = Date.parse(connection.token_expires_at) - Date.now();
    expect(left_ms).toBeGreaterThan(3_500_000);
    expect(left_ms).toBeLessThanOrEqual(3_600_000);
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
    expect((await platform.call({ path: `/v1/gateway/hub/${connection.id}/user`, token })).status).toBe(200);
    expect(provider.used.at(-1)).toMatch(/^at-/);
    expect((await platform.call({ path: '/v1/gateway/list', token })).json.connections).toMatchObject([
      { id: connection.id, scopes: 'read,write', request_scopes_url: `${platform.url}/v1/oauth/hub/authorize` },
    ]);
    const files = readdirSync(platform.dir)
      .filter((name) => !name.endsWith('.sock'))
      .map((name) => readFileSync(join(platform.dir, name)));
    for (const secret of [/at-\d+-/, /rt-\d+-/, /client-secret/]) {
      for (const text of [answer.text, JSON.stringify(platform.log), ...files.map((file) => file.toString('latin1'))]) {
        expect(text).not.toMatch(secret);
      }
    }
  });

  test('uses a state once, in the organization and at the provider that began', async () => {
    const { platform, provider, authorize, finish } = await openWithOAuth();
    await platform.admin.createOrganization('other');
    const other = await platform.admin.createToken({ organization: 'other' });
    const { authorize_url, state } = (await authorize()).json;
    const code = provider.agree(authorize_url);
    const field = async (body: unknown, token = platform.token, name = 'hub') => {
      const answer = await finish(body, token, name);
      return [answer.status, answer.json.details?.fields[0].field];
    };
    expect(await field({ code, state }, other)).toEqual([400, 'body.state']);
    expect(await field({ code, state }, platform.token, 'hub2')).toEqual([400, 'body.state']);
    expect(await field({ code, state: `${state}x` })).toEqual([400, 'body.state']);
    expect(await field({ code })).toEqual([400, 'body.state']);
    expect((await finish({ code })).json.message).toMatch(/is missing.* shows that this organization began/s);
    expect(provider.tokenCalls).toEqual([]);
    const calls = await Promise.all(Array.from({ length: 5 }, () => finish({ code, state })));
    expect(calls.map(({ status }) => status).sort()).toEqual([201, 400, 400, 400, 400]);
    expect(provider.tokenCalls).toHaveLength(1);
  });

  test('takes a state that the caller made, and not twice at a time', async () => {
    const { provider, authorize, finish } = await openWithOAuth();
    const { json } = await authorize('?state=mine');
    expect(json.state).toBe('mine');
    expect((await authorize('?state=mine')).status).toBe(400);
    expect((await finish({ code: provider.agree(json.authorize_url), state: 'mine' })).status).toBe(201);
  });

  test('needs the redirect URI with which the authorization began, when it names one', async () => {
    const { provider, authorize, finish } = await openWithOAuth();
    const redirect_uri = 'https://app.example/back';
    const { json } = await authorize(`?redirect_uri=${redirect_uri}`);
    const code = provider.agree(json.authorize_url);
    const wrong = await finish({ code, state: json.state, redirect_uri: `${redirect_uri}/` });
    expect(wrong.json.details.fields[0].field).toBe('body.redirect_uri');
    const done = await finish({ code, state: json.state, redirect_uri });
    expect(done.status).toBe(201);
    expect(provider.tokenCalls.at(-1)).toMatchObject({ redirect_uri, grant_type: 'authorization_code' });
  });

  test('with a code that the provider refuses is 400 with its word', async () => {
    const { authorize, finish } = await openWithOAuth();
    const { state } = (await authorize()).json;
    const answer = await finish({ code: 'made-up', state });
    expect(answer.status).toBe(400);
    expect(answer.json.message).toBe('body.code: the provider answered invalid_grant');
  });

  test('reads forms and errors with 200, as GitHub sends them', async () => {
    const { provider, authorize, finish, connect } = await openWithOAuth();
    provider.state.style = 'github';
    provider.state.expires_in = 28_800;
    const { status, json } = await connect();
    expect(status).toBe(201);
    expect(json.connection).toMatchObject({ scopes: 'read,write', token_expires_at: expect.any(String) });
    const refused = await finish({ code: 'made-up', state: (await authorize()).json.state });
    expect([refused.status, refused.json.message]).toEqual([
      400,
      'body.code: the provider answered bad_verification_code',
    ]);
  });

  test.each([
    ['answer', 'team-u1', /^at-\d+-[0-9a-f-]{36}$/],
    ['authed_user', 'person-u1', /-person$/],
  ] as const)('reads the token in %s and ok:false, as Slack sends them', async (token_in, account, form) => {
    const id = token_in === 'answer' ? 'team.id' : 'authed_user.id';
    const account_source = { from: 'token_answer', id, name: 'team.name' } as const;
    const { platform, provider, authorize, finish, connect } = await openWithOAuth({
      token_in,
      account: account_source,
    });
    provider.state.style = 'slack';
    const { status, json } = await connect('', { access_policy: { allow_all: true } });
    expect(status).toBe(201);
    expect(json.connection).toMatchObject({ provider_account_id: account, provider_account_name: 'Acme' });
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
    await platform.call({ path: `/v1/gateway/hub/${json.connection.id}/user`, token });
    expect(provider.used.at(-1)).toMatch(form);
    const refused = await finish({ code: 'made-up', state: (await authorize()).json.state });
    expect([refused.status, refused.json.message]).toEqual([400, 'body.code: the provider answered invalid_grant']);
  });

  test('for an account that has a connector renews that one, and keeps its policy', async () => {
    const { provider, connect, platform } = await openWithOAuth();
    const first = (await connect('', { access_policy: { allow_all: true } })).json.connection;
    const second = (await connect('?add_scopes=mail')).json.connection;
    expect(second).toMatchObject({ id: first.id, access_policy: { allow_all: true }, scopes: 'read,write,mail' });
    provider.state.account = 'u2';
    expect((await connect()).json.connection.id).not.toBe(first.id);
    expect((await platform.call({ path: '/v1/oauth/connections' })).json.connections).toHaveLength(2);
  });

  test('where the platform sends the user shows what to send on, and takes nothing', async () => {
    const { platform, provider, authorize } = await openWithOAuth();
    const { authorize_url, state } = (await authorize()).json;
    const code = provider.agree(authorize_url);
    const path = `/v1/oauth/hub/callback?code=${code}&state=${state}`;
    const answer = await platform.call({ path, token: undefined });
    expect(answer.json).toMatchObject({ provider: 'hub', code, state });
    expect(provider.tokenCalls).toEqual([]);
    const broken = await platform.call({ path: `${path}&code=again`, token: undefined });
    const begun = await authorize();
    expect([answer, broken, begun].map(({ status, headers }) => [status, headers.get('cache-control')])).toEqual([
      [200, 'no-store'],
      [400, 'no-store'],
      [200, 'no-store'],
    ]);
  });
});

describe('a deleted connector', () => {
  test.each([
    ['rfc7009', '/revoke', /^rt-/],
    ['bearer', '/revoke', /^at-/],
    ['github', '/applications/{client_id}/token', /^at-/],
  ] as const)('has its token ended at the provider (%s)', async (style, path, token) => {
    const provider = await startOAuthProvider();
    provider.state.expires_in = 3_600;
    const revocation = { style, url: `${provider.origin}${path}` };
    const platform = await openTestPlatform({
      catalogue: [provider.entry('hub', { revocation })],
      oauthClients: [provider.client('hub')],
    });
    const { json } = await platform.call({ path: '/v1/oauth/hub/authorize' });
    const body = { code: provider.agree(json.authorize_url), state: json.state };
    const made = await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body });
    const { id } = made.json.connection;
    expect((await platform.call({ method: 'DELETE', path: `/v1/oauth/connections/${id}` })).status).toBe(204);
    expect(provider.revoked).toEqual([expect.stringMatching(token)]);
  });

  test('is gone also when the provider cannot be reached, which is logged', async () => {
    const { connect, platform } = await openWithOAuth({
      revocation: { style: 'rfc7009', url: 'http://127.0.0.1:1/revoke' },
    });
    const { id } = (await connect()).json.connection;
    expect((await platform.call({ method: 'DELETE', path: `/v1/oauth/connections/${id}` })).status).toBe(204);
    expect((await platform.call({ path: `/v1/oauth/connections/${id}` })).status).toBe(404);
    expect(platform.log.some(({ message }) => String(message).includes('may still be good'))).toBe(true);
  });
});
