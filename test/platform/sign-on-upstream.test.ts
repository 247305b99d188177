// Signing in at an OpenID provider: the way there and back, who gets in, and everything that must not lead in.
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { openOnce } from '../support/at-end.ts';
import { type OpenIdTestIssuer, openTestIssuer } from '../support/openid-issuer.ts';
import {
  createTestClock,
  exchange,
  openSignOnPlatform,
  readTokenInfo,
  type SignOnPlatform,
  TestBrowser,
  toAuthorizePath,
} from '../support/sign-on-client.ts';

const clock = createTestClock();
const opened = openOnce(async () => {
  const issuer = await openTestIssuer();
  const { client_id, client_secret } = issuer.client;
  const signInIssuer = { issuer: issuer.url, client_id, client_secret: new Secret(client_secret) };
  return { issuer, platform: await openSignOnPlatform({ signInIssuer, clock }) };
});
let issuer: OpenIdTestIssuer;
let platform: SignOnPlatform;
beforeAll(() => {
  ({ issuer, platform } = opened());
});
beforeEach(() => {
  issuer.claims = {};
  issuer.isForged = false;
});

const start = () => toAuthorizePath(platform, { state: 'a&b', organization_id: platform.organization_id });

/** Goes from the page to sign in to where the issuer sends the browser; resolves with the target of the way back. */
async function goThere(browser: TestBrowser, email = platform.user.email): Promise<string> {
  const page = await browser.get(start());
  const path = /href="(\/oauth\/sign-in\?[^"]+)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
  const { status, location } = await browser.get(path);
  expect({ status, isThere: location.startsWith(`${issuer.url}/authorize?tenant=1&`) }).toEqual({
    status: 302,
    isThere: true,
  });
  const back = issuer.agree(location, email);
  expect(back.startsWith(`${platform.url}/oauth/sign-in/callback?`)).toBe(true);
  return back.slice(platform.url.length);
}

test('a user comes back with a verified address, and goes on with the request of the provider', async () => {
  const browser = new TestBrowser(platform.url);
  const back = await browser.get(await goThere(browser, platform.user.email.toUpperCase()));
  expect(back).toMatchObject({ status: 302, location: expect.stringMatching(/^\/oauth\/authorize\?/) });
  const consent = await browser.follow(back);
  expect(consent.text).toContain('value="allow"');
  const { query } = await browser.submit({ action: 'allow' });
  expect(query.state).toBe('a&b');
  const { json } = await exchange(platform, { code: query.code ?? '' });
  expect((await readTokenInfo(platform, json.access_token)).json.user_id).toBe(platform.user.user_id);
  expect(browser.cookies.has('remora-way')).toBe(false);
});

test.each([
  ['an address that is not verified', { email_verified: false }],
  ['an address that is said to be verified in text', { email_verified: 'true' }],
  ['no address', { email: undefined }],
  ['an address that nobody here has', { email: 'stranger@example.com' }],
  ['another issuer', { iss: 'https://evil.example' }],
  ['a token for another client', { aud: 'other' }],
  ['another nonce', { nonce: 'x' }],
  ['a token that has expired', { exp: 1_000 }],
])('%s signs nobody in', async (_, claims) => {
  issuer.claims = claims;
  const browser = new TestBrowser(platform.url);
  expect(await browser.get(await goThere(browser))).toMatchObject({ status: 403, location: '' });
  expect(browser.cookies.has('remora-session')).toBe(false);
});

test('a forged signature signs nobody in', async () => {
  issuer.isForged = true;
  const browser = new TestBrowser(platform.url);
  expect((await browser.get(await goThere(browser))).status).toBe(403);
});

test('a way back is good once, in its own browser, with its own state, and for ten minutes', async () => {
  const [mine, theirs] = [new TestBrowser(platform.url), new TestBrowser(platform.url)];
  const foreign = await goThere(theirs);
  expect((await mine.get(foreign)).status).toBe(403);
  await goThere(mine);
  expect((await mine.get(foreign)).status).toBe(403);
  const own = await goThere(mine);
  expect((await mine.get(own.replace(/state=[^&]+/, 'state=forged'))).status).toBe(403);
  const altered = await goThere(mine);
  const kept = mine.cookies.get('remora-way') ?? '';
  mine.cookies.set(
    'remora-way',
    kept.replace(/\.[^.]+\./, (part) => `.1${part.slice(1)}`),
  );
  expect((await mine.get(altered)).status).toBe(403);
  const good = await goThere(mine);
  const way = mine.cookies.get('remora-way') ?? '';
  expect((await mine.get(good)).status).toBe(302);
  mine.cookies.set('remora-way', way);
  expect((await mine.get(good)).status).toBe(403);
  const late = await goThere(theirs);
  clock.pass(10 * 60_000 + 1);
  expect((await theirs.get(late)).status).toBe(403);
  expect((await theirs.get('/oauth/sign-in/callback?error=access_denied')).status).toBe(403);
});

test.each([
  ['another request', 2],
  ['another time', 1],
])('what the browser keeps meanwhile cannot be given %s', async (_, at) => {
  const browser = new TestBrowser(platform.url);
  const back = await goThere(browser);
  const parts = (browser.cookies.get('remora-way') ?? '').split('.');
  const query = Buffer.from(JSON.stringify({ client_id: 'other' })).toString('base64url');
  const changed = parts.map((part, index) => (index !== at ? part : at === 2 ? query : String(Number(part) + 1)));
  browser.cookies.set('remora-way', changed.join('.'));
  expect(await browser.get(back)).toMatchObject({ status: 403, location: '' });
  expect(browser.cookies.has('remora-session')).toBe(false);
});

test('an issuer that is away is told, and the password goes on working', async () => {
  const settings = { issuer: 'http://127.0.0.1:1', client_id: 'x', client_secret: new Secret('x') };
  const other = await openSignOnPlatform({ signInIssuer: settings });
  const browser = new TestBrowser(other.url);
  expect(await browser.get('/oauth/sign-in')).toMatchObject({ status: 502 });
  expect((await browser.signOn(toAuthorizePath(other), other.user)).query.code).toBeDefined();
  await expect(openSignOnPlatform({ signInIssuer: { ...settings, issuer: 'http://issuer.example' } })).rejects.toThrow(
    /issuer/,
  );
});

test('without an issuer there is no such way', async () => {
  const other = await openSignOnPlatform();
  const browser = new TestBrowser(other.url);
  expect((await browser.get(toAuthorizePath(other))).text).not.toContain('/oauth/sign-in?');
  expect((await browser.get('/oauth/sign-in')).status).toBe(404);
  expect((await browser.get('/oauth/sign-in/callback?code=x&state=y')).status).toBe(403);
});
