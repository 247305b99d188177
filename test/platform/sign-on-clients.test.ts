// Sign-on by the OAuth clients that providers use: each goes the whole way, from the request to the tokens and their end.
import { createRequire } from 'node:module';
import ClientOAuth2 from 'client-oauth2';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { beforeAll, describe, expect, test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import { openSignOnPlatform, readTokenInfo, type SignOnPlatform, TestBrowser } from '../support/sign-on-client.ts';

const opened = openOnce(() => openSignOnPlatform());
let platform: SignOnPlatform;
beforeAll(() => {
  platform = opened();
});

/** Where a browser in which nobody is signed in yet ends, sent to this address by a provider. */
async function comeBack(url: URL | string): Promise<string> {
  const { pathname, search, origin } = new URL(url);
  expect(origin).toBe(platform.url);
  const { location } = await new TestBrowser(platform.url).signOn(pathname + search, platform.user);
  expect(location.startsWith(`${platform.redirect_uri}?`), location).toBe(true);
  return location;
}

async function expectUser(access_token: string): Promise<void> {
  const { status, json } = await readTokenInfo(platform, access_token);
  expect({ status, user_id: json.user_id }).toEqual({ status: 200, user_id: platform.user.user_id });
}

const expectEnded = async (access_token: string) =>
  expect((await readTokenInfo(platform, access_token)).json.error).toBe('invalid_token');

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true };

  test.each([
    ['by Basic', oauth.ClientSecretBasic],
    ['in the form', oauth.ClientSecretPost],
  ])('with the secret %s', async (_, toAuth) => {
    const issuer = new URL(platform.url);
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const client = { client_id: platform.client.client_id };
    const auth = toAuth(platform.client.client_secret);
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(server.authorization_endpoint ?? '');
    url.search = new URLSearchParams({
      ...{ ...client, redirect_uri: platform.redirect_uri, response_type: 'code', scope: 'read', state },
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString();
    const answer = oauth.validateAuthResponse(server, client, new URL(await comeBack(url)), state);
    const granted = await oauth.authorizationCodeGrantRequest(
      ...([server, client, auth, answer, platform.redirect_uri, verifier, insecure] as const),
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, granted);
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'read', expires_in: 7200 });
    await expectUser(tokens.access_token);
    const refreshing = await oauth.refreshTokenGrantRequest(server, client, auth, tokens.refresh_token ?? '', insecure);
    const fresh = await oauth.processRefreshTokenResponse(server, client, refreshing);
    await expectUser(fresh.access_token);
    const revoking = await oauth.revocationRequest(server, client, auth, fresh.refresh_token ?? '', insecure);
    await oauth.processRevocationResponse(revoking);
    await expectEnded(fresh.access_token);
  });

  test('a forged state and a denial are told', async () => {
    const issuer = new URL(platform.url);
    const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure });
    const server = await oauth.processDiscoveryResponse(issuer, found);
    const client = { client_id: platform.client.client_id };
    const asked = { ...client, redirect_uri: platform.redirect_uri, response_type: 'code' };
    const url = `${server.authorization_endpoint}?${new URLSearchParams({ ...asked, state: 'theirs' })}`;
    const back = new URL(await comeBack(url));
    expect(() => oauth.validateAuthResponse(server, client, back, 'mine')).toThrow(/state/);
    const other = `${server.authorization_endpoint}?${new URLSearchParams({ ...asked, organization_id: 'org_none' })}`;
    const denied = new URL(await comeBack(other));
    expect(() => oauth.validateAuthResponse(server, client, denied)).toThrow(oauth.AuthorizationResponseError);
  });
});

test('openid-client', async () => {
  const { client_id, client_secret } = platform.client;
  const config = await openid.discovery(new URL(platform.url), client_id, client_secret, undefined, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });
  const pkceCodeVerifier = openid.randomPKCECodeVerifier();
  const expectedState = openid.randomState();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: platform.redirect_uri,
    scope: 'read',
    state: expectedState,
    code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  const back = new URL(await comeBack(url));
  const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState });
  const info = new URL(`${platform.url}/oauth/token/info`);
  const answer = await openid.fetchProtectedResource(config, tokens.access_token, info, 'GET');
  expect(await answer.json()).toMatchObject({ user_id: platform.user.user_id });
  const fresh = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '');
  await expectUser(fresh.access_token);
  await openid.tokenRevocation(config, fresh.access_token);
  await expectEnded(fresh.access_token);
  await expect(openid.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState })).rejects.toMatchObject({
    error: 'invalid_grant',
    error_description: expect.any(String),
  });
});

/** The package has no types; these are of what is used here. */
interface SimpleToken {
  readonly token: { readonly access_token: string; readonly expires_at: Date };
  refresh(): Promise<SimpleToken>;
  revoke(kind: 'access_token' | 'refresh_token'): Promise<void>;
}
interface SimpleClient {
  authorizeURL(query: object): string;
  getToken(query: object): Promise<SimpleToken>;
}
interface PassportStrategy {
  success(user: unknown): void;
  fail(challenge: unknown): void;
  redirect(url: string): void;
  error(error: unknown): void;
  authenticate(request: object, options?: object): void;
}
type Verify = (access: string, refresh: string, results: object, profile: object, done: Done) => void;
type Done = (error: unknown, user: unknown) => void;

const require = createRequire(import.meta.url);
const { AuthorizationCode }: { AuthorizationCode: new (options: object) => SimpleClient } = require('simple-oauth2');
const Strategy: new (options: object, verify: Verify) => PassportStrategy = require('passport-oauth2');

test('simple-oauth2', async () => {
  const { client_id: id, client_secret: secret } = platform.client;
  const auth = { tokenHost: platform.url, tokenPath: '/oauth/token', authorizePath: '/oauth/authorize' };
  const { redirect_uri } = platform;
  for (const authorizationMethod of ['header', 'body']) {
    const client = new AuthorizationCode({
      client: { id, secret },
      auth: { ...auth, revokePath: '/oauth/revoke' },
      options: { authorizationMethod },
    });
    const back = await comeBack(client.authorizeURL({ redirect_uri, scope: 'read', state: 's' }));
    const code = new URL(back).searchParams.get('code');
    const token = await client.getToken({ code, redirect_uri, scope: 'read' });
    await expectUser(token.token.access_token);
    const fresh = await token.refresh();
    await expectUser(fresh.token.access_token);
    await fresh.revoke('access_token');
    await expectEnded(fresh.token.access_token);
    await expect(client.getToken({ code, redirect_uri })).rejects.toThrow(/400/);
  }
});

test('passport-oauth2, with state and a code verifier', async () => {
  const strategy = new Strategy(
    {
      authorizationURL: `${platform.url}/oauth/authorize`,
      tokenURL: `${platform.url}/oauth/token`,
      clientID: platform.client.client_id,
      clientSecret: platform.client.client_secret,
      callbackURL: platform.redirect_uri,
      scope: 'read',
      state: true,
      pkce: true,
    },
    (access_token, refresh_token, results, _profile, done) => done(null, { access_token, refresh_token, results }),
  );
  const session = {};
  const run = (query: object) =>
    new Promise<{ type: string; value: unknown }>((resolve, reject) => {
      const one = Object.create(strategy) as PassportStrategy;
      one.redirect = (value) => resolve({ type: 'redirect', value });
      one.success = (value) => resolve({ type: 'success', value });
      one.fail = (value) => resolve({ type: 'fail', value });
      one.error = reject;
      one.authenticate({ query, session, headers: {}, connection: {} });
    });
  const asked = await run({});
  expect(asked.type).toBe('redirect');
  const back = new URL(await comeBack(String(asked.value)));
  expect((await run({ code: 'x', state: 'forged' })).type).toBe('fail');
  const again = new URL(await comeBack(String((await run({})).value)));
  expect(back.searchParams.get('state')).not.toBe(again.searchParams.get('state'));
  const done = await run(Object.fromEntries(again.searchParams));
  expect(done).toMatchObject({ type: 'success', value: { results: { scope: 'read', expires_in: 7200 } } });
  await expectUser((done.value as { access_token: string }).access_token);
});

test('client-oauth2', async () => {
  const client = new ClientOAuth2({
    clientId: platform.client.client_id,
    clientSecret: platform.client.client_secret,
    accessTokenUri: `${platform.url}/oauth/token`,
    authorizationUri: `${platform.url}/oauth/authorize`,
    redirectUri: platform.redirect_uri,
    scopes: ['read'],
    state: 'kept',
  });
  const back = await comeBack(client.code.getUri());
  const token = await client.code.getToken(back);
  await expectUser(token.accessToken);
  const fresh = await token.refresh();
  await expectUser(fresh.accessToken);
  await expect(client.code.getToken(back)).rejects.toMatchObject({ body: { error: 'invalid_grant' } });
  await expectEnded(fresh.accessToken);
  await expect(client.code.getToken(back.replace('state=kept', 'state=forged'))).rejects.toThrow(/state/i);
});
