// Sign-on from the request of a provider to the tokens and their end, at a real platform.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openOnce } from '../support/at-end.ts';
import {
  createTestClock,
  exchange,
  openSignOnPlatform,
  postForm,
  readTokenInfo,
  type SignOnPlatform,
  TestBrowser,
  toAuthorizePath,
} from '../support/sign-on-client.ts';
import { soon } from '../support/soon.ts';

const clock = createTestClock();
const opened = openOnce(() => openSignOnPlatform({ clock }));
let platform: SignOnPlatform;
beforeAll(() => {
  platform = opened();
});

/** A fresh browser of the user, and the code that it comes back with. */
async function signOn(more: Readonly<Record<string, string>> = {}, of = platform): Promise<string> {
  const answer = await new TestBrowser(of.url).signOn(toAuthorizePath(of, more), of.user);
  expect(answer.query.code, answer.location).toMatch(/^[\w-]{43}$/);
  return answer.query.code ?? '';
}

async function openTokens(more: Readonly<Record<string, string>> = {}) {
  const { status, json } = await exchange(platform, { code: await signOn(more) });
  expect(status).toBe(200);
  return json as { access_token: string; refresh_token: string };
}

const refresh = (refresh_token: string) => exchange(platform, { grant_type: 'refresh_token', refresh_token });

describe('the way of a sign-on', () => {
  test('the first time the user signs in and allows it, afterwards the code comes at once, and the tokens say who it is', async () => {
    const user = await platform.createUser('first@example.com');
    const browser = new TestBrowser(platform.url);
    const path = toAuthorizePath(platform, { state: 'a b&c=d#é', organization_id: platform.organization_id });
    const page = await browser.get(path);
    expect(page.status).toBe(200);
    expect(page.text).toContain('name="password"');
    const signedIn = await browser.submit({ action: 'sign_in', email: user.email, password: user.password });
    expect(signedIn).toMatchObject({ status: 303, location: expect.stringMatching(/^\/oauth\/authorize\?/) });
    const consent = await browser.follow(signedIn);
    expect(consent.text).toContain('<li>acme</li>');
    expect(consent.text).toContain('Ada &lt;b&gt;');
    const back = await browser.submit({ action: 'allow' });
    expect(back.status).toBe(303);
    expect(back.location.startsWith(`${platform.redirect_uri}?code=`)).toBe(true);
    expect(back.query).toEqual({
      code: expect.stringMatching(/^[\w-]{43}$/),
      state: 'a b&c=d#é',
      iss: platform.url,
    });
    const again = await browser.get(path);
    expect(again).toMatchObject({ status: 302, query: { code: expect.any(String), state: 'a b&c=d#é' } });
    expect(again.query.code).not.toBe(back.query.code);

    const answer = await exchange(platform, { code: back.query.code ?? '' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.json).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 7200,
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      scope: 'read',
      created_at: Math.floor(clock.now / 1_000),
    });
    clock.pass(60_000);
    expect((await readTokenInfo(platform, answer.json.access_token)).json).toEqual({
      resource_owner_id: user.user_id,
      user_id: user.user_id,
      user_name: 'Ada <b>',
      email: user.email_alias,
      organizations: [{ id: platform.organization_id, role: 'admin' }],
      scope: ['read'],
      expires_in: 7140,
      application: { uid: platform.client.client_id },
      created_at: Math.floor((clock.now - 60_000) / 1_000),
    });
  });

  test('a code is good for 60 seconds by the clock of the platform, and for no clock that was set back', async () => {
    const code = await signOn();
    clock.pass(59_999);
    expect((await exchange(platform, { code })).status).toBe(200);
    const late = await signOn();
    clock.pass(60_000);
    expect((await exchange(platform, { code: late })).json).toMatchObject({ error: 'invalid_grant' });
    const future = await signOn();
    clock.now -= 3_600_000;
    expect((await exchange(platform, { code: future })).json).toMatchObject({ error: 'invalid_grant' });
    clock.now += 3_600_000;
  });

  test('a code that is used again ends what came of it', async () => {
    const code = await signOn();
    const { json } = await exchange(platform, { code });
    expect((await readTokenInfo(platform, json.access_token)).status).toBe(200);
    const second = await exchange(platform, { code });
    expect(second).toMatchObject({
      status: 400,
      json: { error: 'invalid_grant', error_description: expect.any(String) },
    });
    expect((await readTokenInfo(platform, json.access_token)).status).toBe(401);
    expect((await refresh(json.refresh_token)).json.error).toBe('invalid_grant');
  });

  test('of a code that is used many times at once at most one use gets tokens', async () => {
    const code = await signOn();
    const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(platform, { code })));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true);
    for (const { json } of good) expect((await readTokenInfo(platform, json.access_token)).status).toBe(401);
  });

  test('a refresh makes new tokens and ends the old; a second use of a refresh token ends them all', async () => {
    const first = await openTokens();
    const { status, json: second } = await refresh(first.refresh_token);
    expect(status).toBe(200);
    expect((await readTokenInfo(platform, first.access_token)).status).toBe(401);
    expect((await readTokenInfo(platform, second.access_token)).status).toBe(200);
    expect(
      (await exchange(platform, { grant_type: 'refresh_token', refresh_token: second.refresh_token, scope: 'write' }))
        .json.error,
    ).toBe('invalid_scope');
    const { json: third } = await refresh(second.refresh_token);
    expect((await refresh(first.refresh_token)).json.error).toBe('invalid_grant');
    expect((await readTokenInfo(platform, third.access_token)).status).toBe(401);
  });

  test('of refreshes at once one makes tokens at most, and the others end them', async () => {
    const { access_token, refresh_token } = await openTokens();
    const answers = await Promise.all(Array.from({ length: 6 }, () => refresh(refresh_token)));
    const good = answers.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    const refused = answers.filter(({ status }) => status === 400);
    expect(refused.map(({ json }) => json.error)).toEqual(refused.map(() => 'invalid_grant'));
    expect(good.length + refused.length).toBe(6);
    for (const token of [access_token, ...good.map(({ json }) => json.access_token)]) {
      expect((await readTokenInfo(platform, token)).status).toBe(401);
    }
  });

  test('an access token ends after two hours, a refresh token after thirty days', async () => {
    const { access_token, refresh_token } = await openTokens();
    clock.pass(7_199_000);
    expect((await readTokenInfo(platform, access_token)).json.expires_in).toBe(1);
    clock.pass(1_000);
    expect((await readTokenInfo(platform, access_token)).json.error).toBe('invalid_token');
    const { json } = await refresh(refresh_token);
    clock.pass(30 * 24 * 3_600_000);
    expect((await refresh(json.refresh_token)).json.error).toBe('invalid_grant');
  });

  test('a code with a challenge needs its verifier, and a wrong one uses it up', async () => {
    const code_verifier = 'v'.repeat(50);
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
    const asked = { code_challenge, code_challenge_method: 'S256' };
    expect((await exchange(platform, { code: await signOn(asked), code_verifier })).status).toBe(200);
    const code = await signOn(asked);
    expect((await exchange(platform, { code, code_verifier: 'w'.repeat(50) })).json.error).toBe('invalid_grant');
    expect((await exchange(platform, { code, code_verifier })).json.error).toBe('invalid_grant');
    expect((await exchange(platform, { code: await signOn(asked) })).json.error).toBe('invalid_grant');
    expect((await exchange(platform, { code: await signOn(), code_verifier })).json.error).toBe('invalid_grant');
  });
});

describe('the client', () => {
  test('names itself by form or by Basic, and a verifier stands for no secret', async () => {
    const { client_id, client_secret } = platform.client;
    const url = `${platform.url}/oauth/token`;
    const rest = { grant_type: 'authorization_code', redirect_uri: platform.redirect_uri };
    const basic = (id: string, secret: string) => ({
      authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
    });
    const good = await postForm(url, { ...rest, code: await signOn() }, basic(client_id, client_secret));
    expect(good.status).toBe(200);
    const code_verifier = 'v'.repeat(50);
    const code_challenge = createHash('sha256').update(code_verifier).digest('base64url');
    const code = await signOn({ code_challenge, code_challenge_method: 'S256' });
    const refused = [
      await postForm(url, { ...rest, client_id, code, code_verifier }),
      await postForm(url, { ...rest, client_id, client_secret: '', code, code_verifier }),
      await postForm(url, { ...rest, client_id, client_secret: 'wrong', code }),
      await postForm(url, { ...rest, client_id: 'nobody', client_secret, code }),
      await postForm(url, { ...rest, code }, basic(client_id, 'wrong')),
      await postForm(url, { ...rest, code }, { authorization: 'Basic %%%' }),
    ];
    for (const { status, headers, json } of refused) {
      expect({ status, error: json.error }).toEqual({ status: 401, error: 'invalid_client' });
      expect(headers.get('www-authenticate')).toBe('Basic realm="sign-on"');
    }
    expect((await postForm(url, { ...rest, client_id: 'x', code }, basic(client_id, client_secret))).json.error).toBe(
      'invalid_request',
    );
    expect((await exchange(platform, { code, code_verifier })).status).toBe(200);
  });

  test('a code or a token of another client is worth nothing, and is not ended by that client', async () => {
    const other = await platform.createClient('other', platform.redirect_uri);
    const asOther = { ...platform, client: other };
    const code = await signOn();
    expect((await exchange(asOther, { code })).json.error).toBe('invalid_grant');
    const { json } = await exchange(platform, { code });
    expect((await exchange(asOther, { code })).json.error).toBe('invalid_grant');
    const given = { grant_type: 'refresh_token', refresh_token: json.refresh_token };
    expect((await exchange(asOther, given)).json.error).toBe('invalid_grant');
    const { client_id, client_secret } = other;
    const revoked = await postForm(`${platform.url}/oauth/revoke`, {
      client_id,
      client_secret,
      token: json.access_token,
    });
    expect(revoked).toMatchObject({ status: 403, json: { error: 'unauthorized_client' } });
    expect((await readTokenInfo(platform, json.access_token)).status).toBe(200);
  });

  test.each([
    ['unsupported_grant_type', { grant_type: 'password', username: 'a', password: 'b' }],
    ['unsupported_grant_type', { grant_type: '__proto__' }],
    ['invalid_request', { grant_type: '' }],
    ['invalid_request', { code: '' }],
    ['invalid_grant', { code: 'a'.repeat(43) }],
    ['invalid_request', { grant_type: 'refresh_token' }],
    ['invalid_grant', { grant_type: 'refresh_token', refresh_token: 'a'.repeat(43) }],
  ])('gets %s for %j', async (error, given) => {
    expect(await exchange(platform, given)).toMatchObject({ status: 400, json: { error } });
  });

  test('a code sent with another address than it came to is used up', async () => {
    const code = await signOn();
    expect((await exchange(platform, { code, redirect_uri: 'https://evil.example/' })).json.error).toBe(
      'invalid_grant',
    );
    expect((await exchange(platform, { code })).json.error).toBe('invalid_grant');
  });

  test('a provider revokes by either token; one that nobody knows has ended already', async () => {
    const { client_id, client_secret } = platform.client;
    const revoke = (token: string) => postForm(`${platform.url}/oauth/revoke`, { client_id, client_secret, token });
    for (const kind of ['access_token', 'refresh_token'] as const) {
      const tokens = await openTokens();
      expect(await revoke(tokens[kind])).toMatchObject({ status: 200, json: {} });
      expect((await readTokenInfo(platform, tokens.access_token)).status).toBe(401);
      expect((await refresh(tokens.refresh_token)).json.error).toBe('invalid_grant');
    }
    expect(await revoke('nothing')).toMatchObject({ status: 200 });
  });

  test('the metadata names what is served', async () => {
    const { json } = await platform.call({ path: '/.well-known/oauth-authorization-server', token: undefined });
    expect(json).toMatchObject({ issuer: platform.url, code_challenge_methods_supported: ['S256'] });
    for (const name of ['authorization_endpoint', 'token_endpoint', 'revocation_endpoint']) {
      expect((await fetch(json[name], { method: 'POST' })).status, name).toBe(400);
    }
  });
});

describe('what a token shows', () => {
  test('is one organization where one was asked for, with the present role, and nothing after the membership', async () => {
    await platform.operate('organization', 'create', 'second');
    const user = await platform.createUser('two@example.com', 'second', 'member');
    await platform.operate('user', 'set-role', user.email, '--organization', 'acme', '--role', 'member');
    const open = async (more: Readonly<Record<string, string>>) => {
      const { query } = await new TestBrowser(platform.url).signOn(toAuthorizePath(platform, more), user);
      return (await exchange(platform, { code: query.code ?? '' })).json.access_token as string;
    };
    const one = await open({ organization_id: platform.organization_id });
    const all = await open({});
    const info = async (token: string) => (await readTokenInfo(platform, token)).json;
    expect((await info(one)).organizations).toEqual([{ id: platform.organization_id, role: 'member' }]);
    expect((await info(all)).organizations).toHaveLength(2);
    await platform.operate('user', 'set-role', user.email, '--organization', 'acme', '--role', 'admin');
    expect((await info(one)).organizations).toEqual([{ id: platform.organization_id, role: 'admin' }]);
    await platform.operate('user', 'remove', user.email, '--organization', 'acme');
    expect((await info(one)).error).toBe('invalid_token');
    expect((await info(all)).organizations).toHaveLength(1);
    await platform.operate('user', 'remove', user.email, '--organization', 'second');
    await platform.operate('user', 'set-role', user.email, '--organization', 'acme');
    expect((await info(one)).error).toBe('invalid_token');
    expect((await info(all)).error).toBe('invalid_token');
  });

  test('ends with a new password, with the user, and with the provider', async () => {
    const signOnAs = async (email: string, of: SignOnPlatform) => {
      const user = await of.createUser(email);
      const { query } = await new TestBrowser(of.url).signOn(toAuthorizePath(of), user);
      return (await exchange(of, { code: query.code ?? '' })).json.access_token as string;
    };
    const client = await platform.createClient('gone', platform.redirect_uri);
    const reset = await signOnAs('reset@example.com', platform);
    const deleted = await signOnAs('deleted@example.com', platform);
    const orphan = await signOnAs('orphan@example.com', { ...platform, client });
    await platform.operate('user', 'reset-password', 'reset@example.com');
    await platform.operate('user', 'delete', 'deleted@example.com');
    await platform.operate('extension-provider', 'delete', 'gone');
    for (const token of [reset, deleted, orphan]) expect((await readTokenInfo(platform, token)).status).toBe(401);
  });

  test('an organization that the user is not in is denied', async () => {
    const { organizations } = (await platform.operate('user', 'list')).users[0];
    expect(organizations.length).toBeGreaterThan(0);
    const answer = await new TestBrowser(platform.url).signOn(
      toAuthorizePath(platform, { organization_id: 'org_none', state: 's' }),
      platform.user,
    );
    expect(answer.query).toMatchObject({ error: 'access_denied', state: 's' });
    expect(answer.query.code).toBeUndefined();
  });

  test('no token of the platform opens it, and its token opens nothing else', async () => {
    expect((await readTokenInfo(platform, platform.token.reveal())).json.error).toBe('invalid_token');
    const { access_token } = await openTokens();
    const headers = { authorization: `Bearer ${access_token}` };
    expect((await fetch(`${platform.url}/v1/sprites`, { headers })).status).toBe(401);
    const none = await fetch(`${platform.url}/oauth/token/info`);
    expect(none.status).toBe(401);
    expect(none.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });
});

test('what has expired is forgotten while sign-ons go on', async () => {
  const database = new Database(join(platform.dir, 'platform.db'), { readonly: true });
  onTestFinished(() => void database.close());
  const count = () => {
    const tables = ['sign_ons', 'sign_on_tokens', 'sign_on_sessions'];
    return tables.map((table) => database.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
  };
  const { refresh_token } = await openTokens();
  let last = refresh_token;
  for (let round = 0; round < 25; round += 1) last = (await refresh(last)).json.refresh_token;
  expect(Number(count()[1])).toBeLessThan(60);
  clock.pass(40 * 24 * 3_600_000);
  await signOn();
  await soon(() => expect(count()).toEqual([1, 0, 1]));
});

test('no code, token, session, secret or password is in the database or in the log', async () => {
  const browser = new TestBrowser(platform.url);
  const { query } = await browser.signOn(toAuthorizePath(platform), platform.user);
  const { json } = await exchange(platform, { code: query.code ?? '' });
  const shown = [query.code, json.access_token, json.refresh_token, ...browser.cookies.values()];
  const secrets = [...shown, platform.user.password, platform.client.client_secret].map(String);
  expect(secrets.every((secret) => secret.length >= 20)).toBe(true);
  const kept = ['platform.db', 'platform.db-wal'].map((name) => readFileSync(join(platform.dir, name), 'latin1'));
  const text = kept.join('') + JSON.stringify(platform.log);
  expect(secrets.filter((secret) => text.includes(secret))).toEqual([]);
});
