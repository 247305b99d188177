// Sign-on at a provider, over real connections: the way there and back, who gets in, and everything that must not lead in.
import { expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createSignedCookie, type SignOnFunction } from '../../src/provider/index.ts';
import { listen, openKitProvider, provisioning } from '../support/kit-provider.ts';
import { CLIENT, openSignOnPlatform } from '../support/kit-sign-on.ts';

/** A browser: it keeps cookies by name, and follows no redirect by itself. */
function createBrowser() {
  const cookies = new Map<string, string>();
  return {
    cookies,
    async open(url: string) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const answer = await fetch(url, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        if (/Max-Age=0/.test(set)) cookies.delete(name);
        else cookies.set(name, value);
      }
      return {
        status: answer.status,
        location: answer.headers.get('location') ?? '',
        text: await answer.text(),
        answer,
      };
    },
  };
}

async function setUp(more: { signOn?: SignOnFunction } = {}) {
  const platform = await openSignOnPlatform();
  const session = createSignedCookie({
    secrets: () => [new Secret('session-secret-0123456789')],
    purpose: 'session',
    path: '/',
    isSecure: false,
    kept_s: 60,
    clock: { wall_ms: Date.now, mono_ms: () => 0 },
  });
  const users: unknown[] = [];
  const signOn: SignOnFunction = ({ resource_id, cookie, user }) => {
    const location = `/boxes/${resource_id}`;
    if (user === undefined) return session.read(cookie, 'session') === resource_id ? { location } : undefined;
    users.push(user);
    return { location, cookies: [session.set('session', resource_id)] };
  };
  const kit = await openKitProvider({
    signOn,
    signOnSettings: {
      platformAuthUrl: `${platform.url}/`,
      clientId: CLIENT.id,
      clientSecret: () => new Secret(CLIENT.secret),
    },
    ...more,
  });
  await kit.call({ method: 'POST', path: '/extensions', body: provisioning('e1') });
  return { platform, kit, users, sso: `${kit.baseUrl}/extensions/p-e1/sso` };
}

it('a browser goes to the platform, comes back signed on, and is known the next time', async () => {
  const { platform, kit, users, sso } = await setUp();
  const browser = createBrowser();
  const begun = await browser.open(sso);
  expect(begun.status).toBe(302);
  const asked = new URL(begun.location);
  expect(asked.origin + asked.pathname).toBe(`${platform.url}/oauth/authorize`);
  expect(Object.fromEntries(asked.searchParams)).toEqual({
    client_id: CLIENT.id,
    response_type: 'code',
    redirect_uri: `${kit.baseUrl}/oauth/callback`,
    scope: 'read',
    organization_id: 'org_1',
    state: expect.stringMatching(/^[\w-]{40,}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
  expect(begun.answer.headers.getSetCookie()[0]).toMatch(
    /^remora_sso_\w{16}=[^;]+; Path=\/remora\/oauth\/callback; HttpOnly; SameSite=Lax; Max-Age=600$/,
  );
  const back = await browser.open(platform.agree(begun.location));
  expect([back.status, back.location]).toEqual([302, '/boxes/p-e1']);
  expect(users).toEqual([{ id: 'user_1', name: 'Ada <b>', email: 'u-1@alias.test', role: 'member' }]);
  expect([...browser.cookies.keys()]).toEqual(['session']);
  expect(await browser.open(sso)).toMatchObject({ status: 302, location: '/boxes/p-e1' });
  expect(platform.tokenCalls).toHaveLength(1);
});

it('a code that came back is good once, for the browser that began, and with its own state', async () => {
  const { platform, users, sso } = await setUp();
  const [victim, thief] = [createBrowser(), createBrowser()];
  const back = platform.agree((await victim.open(sso)).location);
  expect((await thief.open(back)).status).toBe(400);
  await thief.open(sso);
  expect((await thief.open(back)).status).toBe(400);
  expect((await victim.open(back.replace(/state=[^&]+/, 'state=other'))).status).toBe(400);
  expect(platform.tokenCalls).toEqual([]);
  const kept = new Map(victim.cookies);
  expect((await victim.open(back)).status).toBe(302);
  // The browser that has ended it, and one that kept the cookie, cannot use the state again.
  expect((await victim.open(back)).status).toBe(400);
  for (const [name, value] of kept) victim.cookies.set(name, value);
  expect((await victim.open(back)).status).toBe(400);
  expect(users).toHaveLength(1);
  expect(platform.tokenCalls).toHaveLength(1);
});

it('two pages of one browser are opened at once, and each ends', async () => {
  const { platform, sso } = await setUp();
  const browser = createBrowser();
  const [one, two] = [await browser.open(sso), await browser.open(sso)];
  expect((await browser.open(platform.agree(two.location))).status).toBe(302);
  expect((await browser.open(platform.agree(one.location))).status).toBe(302);
  for (let page = 0; page < 30; page += 1) await browser.open(sso);
  expect(browser.cookies.size).toBeLessThan(10);
});

it.each([
  ['of another organization', { organizations: [{ id: 'org_2', role: 'admin' }] }, 403],
  ['of none', { organizations: [] }, 403],
  ['with the token of another application', { application: { uid: 'client-2' } }, 502],
  ['whom the platform describes in another form', { organizations: 'org_1' }, 502],
  ['whom the platform describes in no JSON', '<html>', 502],
  ['whom the platform describes at a length', 'x'.repeat(300_000), 502],
])('a person %s does not get in', async (_case, info, status) => {
  const { platform, users, sso } = await setUp();
  platform.faults.info = info;
  const browser = createBrowser();
  const back = await browser.open(platform.agree((await browser.open(sso)).location));
  expect(back.status).toBe(status);
  expect(back.answer.headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(users).toEqual([]);
  expect(browser.cookies.has('session')).toBe(false);
});

it('a refusal by the person, by the token endpoint, and a platform that is down are pages', async () => {
  const { platform, kit, sso } = await setUp();
  const browser = createBrowser();
  const { location } = await browser.open(sso);
  const state = new URL(location).searchParams.get('state') ?? '';
  const denied = await browser.open(
    `${kit.baseUrl}/oauth/callback?${new URLSearchParams({ error: 'access_denied', state, error_description: '<script>' })}`,
  );
  expect([denied.status, denied.text.includes('script')]).toEqual([403, false]);
  const again = platform.agree((await browser.open(sso)).location);
  expect((await browser.open(again.replace(/code=[^&]+/, 'code=forged'))).status).toBe(403);
  platform.faults.tokenStatus = 500;
  expect((await browser.open(platform.agree((await browser.open(sso)).location))).status).toBe(502);
  expect(kit.errors.length).toBeGreaterThan(0);
  expect(String(kit.errors)).not.toContain(CLIENT.secret);
});

it('a platform that redirects is given neither the code nor the secret once more', async () => {
  const { platform, kit, sso, users } = await setUp();
  const asked: string[] = [];
  const { url } = await listen((request, response) => {
    asked.push(request.url ?? '');
    response.end('{}');
  });
  platform.faults.redirect = url;
  const browser = createBrowser();
  expect((await browser.open(platform.agree((await browser.open(sso)).location))).status).toBe(502);
  expect([asked, users]).toEqual([[], []]);
  expect(kit.errors.length).toBe(1);
});

it('an extension that is not known, and one that is gone, are pages too', async () => {
  const { kit, sso } = await setUp();
  const browser = createBrowser();
  await kit.call({ method: 'DELETE', path: '/extensions/p-e1' });
  expect((await browser.open(sso)).status).toBe(404);
  // The provider knows it, and not whose it is.
  expect((await browser.open(`${kit.baseUrl}/extensions/other/sso`)).status).toBe(403);
});

it('settings that cannot work are refused at the start', async () => {
  const signOnSettings = { platformAuthUrl: 'https://p.test', clientId: 'c', clientSecret: () => new Secret('s') };
  await expect(openKitProvider({ signOnSettings })).rejects.toThrow('go together');
  const elsewhere = { ...signOnSettings, redirectUri: 'https://other.test/callback' };
  await expect(openKitProvider({ signOn: () => undefined, signOnSettings: elsewhere })).rejects.toThrow('redirectUri');
});

it('a cookie is good until its time, for its purpose and name, and as it was signed', () => {
  let wall_ms = 1_000_000;
  let secrets = [new Secret('a'.repeat(16))];
  const make = (purpose: string) =>
    createSignedCookie({
      secrets: () => secrets,
      purpose,
      path: '/',
      isSecure: true,
      kept_s: 60,
      clock: { wall_ms: () => wall_ms, mono_ms: () => 0 },
    });
  const cookie = make('one');
  const set = cookie.set('c', { who: 1 });
  expect(set).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=60$/);
  const header = `x=1; ${set.split(';')[0]}`;
  expect(cookie.read(header, 'c')).toEqual({ who: 1 });
  expect(make('two').read(header, 'c')).toBeUndefined();
  expect(cookie.read(header.replace('c=', 'd='), 'd')).toBeUndefined();
  expect(cookie.read(header.replace(/c=../, 'c=xx'), 'c')).toBeUndefined();
  for (const odd of [undefined, '', 'c', 'c=', 'c=.', `${header}x`, 'c=a.b.c']) {
    expect(cookie.read(odd, 'c')).toBeUndefined();
  }
  secrets = [new Secret('b'.repeat(16)), ...secrets];
  expect(cookie.read(header, 'c')).toEqual({ who: 1 });
  wall_ms += 61_000;
  expect(cookie.read(header, 'c')).toBeUndefined();
});
