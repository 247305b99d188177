// What strangers try with sign-on: open redirects, forged forms and states, text that becomes HTML or a header, guessing, giant input.
import { beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createCookies } from '../../src/platform/sign-on/cookies.ts';
import { openOnce } from '../support/at-end.ts';
import {
  createTestClock,
  exchange,
  openSignOnPlatform,
  postForm,
  REDIRECT_URI,
  readTokenInfo,
  type SignOnPlatform,
  TestBrowser,
  toAuthorizePath,
} from '../support/sign-on-client.ts';

const clock = createTestClock();
const many = { burst: 1_000_000, perSecond: 1_000_000 };
const opened = openOnce(() => openSignOnPlatform({ clock, signInRates: { ofAddress: many, ofAll: many } }));
let platform: SignOnPlatform;
beforeAll(() => {
  platform = opened();
});

const browse = () => new TestBrowser(platform.url);
const right = () => ({ action: 'sign_in', email: platform.user.email, password: platform.user.password });

describe('nobody is redirected to an address that is not registered', () => {
  test.each([
    'https://evil.example/callback',
    `${REDIRECT_URI}/`,
    `${REDIRECT_URI}?x=1`,
    `${REDIRECT_URI}#f`,
    REDIRECT_URI.toUpperCase(),
    'https://provider.example@evil.example/callback',
    'https://provider.example/callback/../x',
    'https://provider.example/%63allback',
    'https://provider.example.evil.example/callback',
    '//evil.example',
    'javascript:alert(1)',
    `${REDIRECT_URI}\r\nSet-Cookie: a=b`,
    '',
  ])('%j', async (redirect_uri) => {
    for (const more of [{}, { response_type: 'token' }, { scope: 'write' }]) {
      const answer = await browse().get(toAuthorizePath(platform, { redirect_uri, ...more }));
      expect(answer).toMatchObject({ status: 400, location: '' });
      expect(answer.text).not.toContain('evil.example');
    }
  });

  test('an unknown client is told to the user only', async () => {
    const of = { client: { ...platform.client, client_id: 'nobody' }, redirect_uri: REDIRECT_URI };
    expect(await browse().get(toAuthorizePath(of))).toMatchObject({ status: 400, location: '' });
    expect(await browse().get('/oauth/authorize')).toMatchObject({ status: 400, location: '' });
  });
});

describe('a fault of the request goes to the provider, with its state', () => {
  test.each([
    ['unsupported_response_type', { response_type: 'token' }],
    ['invalid_request', { response_type: '' }],
    ['invalid_scope', { scope: 'write' }],
    ['invalid_scope', { scope: 'read write' }],
    ['invalid_request', { code_challenge: 'a'.repeat(43), code_challenge_method: 'plain' }],
    ['invalid_request', { code_challenge: 'a'.repeat(43) }],
    ['invalid_request', { code_challenge: 'short', code_challenge_method: 'S256' }],
    ['invalid_request', { code_challenge_method: 'S256' }],
  ])('%s for %j', async (error, more) => {
    const answer = await browse().get(toAuthorizePath(platform, { state: 'st', ...more }));
    expect(answer.status).toBe(302);
    expect(answer.location.startsWith(`${REDIRECT_URI}?`)).toBe(true);
    expect(answer.query).toEqual({ error, state: 'st', error_description: expect.any(String), iss: platform.url });
  });
});

test('a state is passed back as it came, and never becomes a header or HTML', async () => {
  const states = [
    'a\r\nSet-Cookie: evil=1',
    '"><script>alert(1)</script>',
    '%0d%0aX: y',
    '&code=forged',
    '\u0000é',
    'x'.repeat(2_048),
  ];
  for (const state of states) {
    const browser = browse();
    const path = toAuthorizePath(platform, { state });
    const page = await browser.get(path);
    expect(page.text).not.toContain('<script');
    expect(page.headers.getSetCookie().join()).not.toContain('evil');
    const back = await browser.signOn(path, platform.user);
    expect(back.headers.getSetCookie().join()).not.toContain('evil');
    expect(back.query).toEqual({ code: expect.stringMatching(/^[\w-]{43}$/), state, iss: platform.url });
  }
});

test('what was typed into a field comes back as text', async () => {
  const browser = browse();
  await browser.get(toAuthorizePath(platform));
  const email = '"><img src=x onerror=alert(1)>\'';
  const { text } = await browser.submit({ action: 'sign_in', email, password: 'x' });
  expect(text).toContain('&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&#39;');
  expect(text).not.toContain('<img');
});

test('every page forbids scripts, frames, caches and referrers, and its forms lead to the platform and the provider only', async () => {
  const browser = browse();
  const pages = [await browser.get(toAuthorizePath(platform)), await browser.get('/oauth/sign-out')];
  pages.push(await browser.get('/oauth/authorize'), await browse().get(toAuthorizePath(platform)));
  for (const { headers } of pages) {
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^ ]+'; form-action 'self'[^;*]*; frame-ancestors 'none'; base-uri 'none'$/,
    );
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
  expect(pages[0]?.headers.get('content-security-policy')).toContain("form-action 'self' https://provider.example;");
  expect(pages[0]?.headers.getSetCookie()[0]).toMatch(/; HttpOnly; SameSite=Lax$/);
});

test('over https cookies are secure and of this host only', () => {
  const cookies = createCookies(() => 'https://platform.example');
  const session = new Secret('s'.repeat(43));
  const written = cookies.write('session', session, 1_000);
  expect(written).toBe(`__Host-remora-session=${'s'.repeat(43)}; Path=/; Max-Age=1; HttpOnly; SameSite=Lax; Secure`);
  const read = (cookie: string) => cookies.read({ headers: { cookie } }, 'session')?.reveal();
  expect(read(`a=b; __Host-remora-session=${'s'.repeat(43)}`)).toBe('s'.repeat(43));
  expect(read(`remora-session=${'s'.repeat(43)}`)).toBeUndefined();
});

describe('a form that was not made for this browser', () => {
  test('signs nobody in: without a token, with that of another browser, with another cookie, from another site', async () => {
    const [mine, theirs] = [browse(), browse()];
    const path = toAuthorizePath(platform);
    const page = await theirs.get(path);
    const foreign = /form_token" value="([^"]+)"/.exec(page.text)?.[1] ?? '';
    expect(foreign).not.toBe('');
    expect((await mine.post(path, { ...right(), form_token: foreign })).status).toBe(403);
    await mine.get(path);
    expect((await mine.post(path, { ...right(), form_token: foreign })).status).toBe(403);
    expect((await mine.post(path, { ...right(), form_token: '' })).status).toBe(403);
    expect((await mine.post(path, right())).status).toBe(400);
    await mine.get(path);
    expect((await mine.submit(right(), { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect(mine.cookies.has('remora-session')).toBe(false);
    await mine.get(path);
    expect((await mine.submit(right(), { 'sec-fetch-site': 'same-origin' })).status).toBe(303);
  });

  test('gives no consent: that of another request, of another session, or none at all', async () => {
    const user = await platform.createUser('consent@example.com');
    const browser = browse();
    const path = toAuthorizePath(platform, { state: 'mine' });
    await browser.get(path);
    const fields = { action: 'sign_in', email: user.email, password: user.password };
    const consent = await browser.follow(await browser.submit(fields));
    const form_token = /form_token" value="([^"]+)"/.exec(consent.text)?.[1] ?? '';
    const elsewhere = toAuthorizePath(platform, { state: 'theirs' });
    const other = await platform.createClient('greedy', REDIRECT_URI);
    for (const [target, token] of [
      [elsewhere, form_token],
      [toAuthorizePath({ client: other, redirect_uri: REDIRECT_URI }), form_token],
      [path, 'x'],
    ] as const) {
      const answer = await browser.post(target, { action: 'allow', form_token: token });
      expect(answer).toMatchObject({ status: 403, location: '' });
    }
    const stranger = browse();
    expect((await stranger.post(path, { action: 'allow', form_token })).text).toContain('name="password"');
    expect((await browser.post(path, { action: 'allow', form_token })).query.code).toBeDefined();
  });

  test('signs nobody out', async () => {
    const browser = browse();
    await browser.signOn(toAuthorizePath(platform), platform.user);
    expect((await browser.post('/oauth/sign-out', { form_token: 'x' })).status).toBe(403);
    expect((await browser.get('/oauth/sign-out')).text).toContain('You are signed in as');
    const session = browser.cookies.get('remora-session') ?? '';
    expect(await browser.submit({})).toMatchObject({ status: 303, location: '/oauth/sign-out' });
    expect(browser.cookies.has('remora-session')).toBe(false);
    browser.cookies.set('remora-session', session);
    expect((await browser.get('/oauth/sign-out')).text).toContain('Nobody is signed in');
  });
});

test('denial goes back to the provider, is not remembered, and gives no consent', async () => {
  const user = await platform.createUser('denies@example.com');
  const browser = browse();
  const path = toAuthorizePath(platform, { state: 's' });
  await browser.get(path);
  await browser.follow(await browser.submit({ action: 'sign_in', email: user.email, password: user.password }));
  const back = await browser.submit({ action: 'deny' });
  expect(back).toMatchObject({ status: 303, query: { error: 'access_denied', state: 's' } });
  expect((await browser.get(path)).text).toContain('value="allow"');
});

describe('guessing', () => {
  const attempt = async (browser: TestBrowser, email: string, password: string) => {
    await browser.get(toAuthorizePath(platform));
    return await browser.submit({ action: 'sign_in', email, password });
  };

  test('a wrong name and a wrong password have one answer, and one lock-out', async () => {
    const user = await platform.createUser('locked@example.com');
    const [known, unknown] = [browse(), browse()];
    const answers: string[][] = [];
    for (let round = 0; round < 7; round += 1) {
      const pair = [await attempt(known, user.email, 'wrong'), await attempt(unknown, 'no-user@example.com', 'wrong')];
      answers.push(
        pair.map(({ status, text, headers }) => {
          const plain = text.replaceAll(/value="[^"]*"/g, '');
          return `${status} ${headers.get('retry-after')} ${plain}`;
        }),
      );
    }
    for (const [one, other] of answers) expect(one).toBe(other);
    expect(answers.map(([one = '']) => one.slice(0, 3))).toEqual(['401', '401', '401', '401', '401', '429', '429']);
    expect((await attempt(known, user.email, user.password)).status).toBe(429);
    expect((await attempt(known, user.email.toUpperCase(), user.password)).status).toBe(429);
    clock.pass(30_000);
    expect((await attempt(known, user.email, user.password)).status).toBe(303);
    expect((await attempt(browse(), user.email, 'wrong')).status).toBe(401);
  });

  test('many tries at once are no way round the lock-out, and a clock that is set back makes it no longer', async () => {
    const user = await platform.createUser('parallel@example.com');
    const statuses = await Promise.all(
      Array.from({ length: 16 }, async () => (await attempt(browse(), user.email, 'wrong')).status),
    );
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(11);
    clock.now -= 24 * 3_600_000;
    const { status, headers } = await attempt(browse(), user.email, user.password);
    expect(status).toBe(429);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(30);
    clock.now += 24 * 3_600_000;
  });

  test('one address may try so many passwords, whatever the names', async () => {
    const strict = { ofAddress: { burst: 3, perSecond: 0.001 }, ofAll: { burst: 100, perSecond: 1 } };
    const other = await openSignOnPlatform({ signInRates: strict });
    const statuses: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const browser = new TestBrowser(other.url);
      await browser.get(toAuthorizePath(other));
      statuses.push(
        (await browser.submit({ action: 'sign_in', email: `n${round}@example.com`, password: 'x' })).status,
      );
    }
    expect(statuses).toEqual([401, 401, 401, 429]);
  });

  test('secrets of clients and access tokens are limited too', async () => {
    const other = await openSignOnPlatform({ wrongTokens: { ofAddress: { burst: 3, perSecond: 0.001 }, ofAll: many } });
    const wrong = { ...other, client: { ...other.client, client_secret: 'wrong' } };
    const codes = [];
    for (let round = 0; round < 4; round += 1) codes.push((await exchange(wrong, { code: 'x' })).status);
    expect(codes).toEqual([401, 401, 401, 429]);
    const infos = [];
    for (let round = 0; round < 4; round += 1) infos.push((await readTokenInfo(other, 'x')).status);
    expect(infos).toEqual([401, 401, 401, 429]);
  });
});

test('giant and odd input is refused, and the platform goes on', async () => {
  const path = toAuthorizePath(platform);
  const big = 'x'.repeat(20_000);
  const browser = browse();
  await browser.get(path);
  expect((await browser.post(path, { action: 'sign_in', email: big, password: 'x', form_token: 'x' })).status).toBe(
    413,
  );
  expect(
    (await browser.post(path, { action: 'sign_in', email: 'a', password: 'p'.repeat(1_025), form_token: 'x' })).status,
  ).toBe(400);
  expect((await browser.get(toAuthorizePath(platform, { state: 'x'.repeat(2_049) }))).status).toBe(400);
  expect((await browser.get(`${path}&state=a&state=b`)).status).toBe(400);
  expect((await browser.get(`${path}&state=%zz`)).status).toBe(400);
  const token = `${platform.url}/oauth/token`;
  expect((await postForm(token, { code: big })).status).toBe(413);
  const json = await fetch(token, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } });
  expect(json.status).toBe(415);
  const repeated = 'grant_type=authorization_code&grant_type=refresh_token';
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  expect((await fetch(token, { method: 'POST', body: repeated, headers })).status).toBe(400);
  const cookie = `remora-session=${'x'.repeat(43)}; remora-form=a; remora-form=b`;
  expect((await fetch(platform.url + path, { headers: { cookie } })).status).toBe(200);
});

test('a session of two browsers ends for itself, and all end after twelve hours', async () => {
  const [one, two] = [browse(), browse()];
  for (const browser of [one, two]) await browser.signOn(toAuthorizePath(platform), platform.user);
  await one.get('/oauth/sign-out');
  await one.submit({});
  expect((await one.get(toAuthorizePath(platform))).text).toContain('name="password"');
  expect((await two.get(toAuthorizePath(platform))).query.code).toBeDefined();
  clock.pass(12 * 3_600_000);
  expect((await two.get(toAuthorizePath(platform))).text).toContain('name="password"');
});
