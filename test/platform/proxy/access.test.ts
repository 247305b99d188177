// Who may open the URL of a sprite: by token, by signing on, and what pages of other sprites can do with the cookie.
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { RemoraError } from '../../../src/core/remora-error.ts';
import { toOriginFault } from '../../../src/platform/proxy/same-origin.ts';
import { UrlAccess } from '../../../src/platform/proxy/url-access.ts';
import { createUrlCookies } from '../../../src/platform/proxy/url-cookies.ts';
import { createCookies } from '../../../src/platform/sign-on/cookies.ts';
import { createFormTokens } from '../../../src/platform/sign-on/form-tokens.ts';
import { createWrongTokens } from '../../../src/platform/tokens/wrong-tokens.ts';
import type { User } from '../../../src/platform/users/user-store.ts';
import { openOnce } from '../../support/at-end.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { openProxiedMachine, SPRITE_HOST } from '../../support/proxied-machine.ts';
import { openRaw } from '../../support/raw-http.ts';
import { runHere } from '../../support/run-here.ts';
import { TestBrowser } from '../../support/sign-on-client.ts';

const asPage = {
  accept: 'text/html',
  'sec-fetch-mode': 'navigate',
  'sec-fetch-dest': 'document',
  'sec-fetch-site': 'none',
};

const opened = openOnce(async () => {
  const proxied = await openProxiedMachine();
  const { platform, setUrl } = proxied;
  await setUrl({ auth: 'sprite', private_access: 'organization' });
  await platform.admin.createOrganization('other');
  const operate = async (...words: string[]) => {
    const { code, out, err } = await runHere(['platform', ...words, '--json', '--dir', platform.dir]);
    if (code !== 0) throw new Error(err);
    return JSON.parse(out);
  };
  const createUser = async (email: string, organization: string, role: string) => ({
    email,
    ...(await operate('user', 'create', email, '--name', 'Ada', '--organization', organization, '--role', role)),
  });
  const admin = await createUser('admin@example.com', 'acme', 'admin');
  const member = await createUser('member@example.com', 'acme', 'member');
  const stranger = await createUser('stranger@example.com', 'other', 'admin');
  const otherToken = await platform.admin.createToken({ organization: 'other' });
  return { ...proxied, operate, admin, member, stranger, otherToken };
});

/** A session of somebody without access, at this origin. */
function openAccess(origin: string) {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const now_ms = () => clock.now;
  const cookies = createUrlCookies(
    createCookies(() => origin),
    createFormTokens(Buffer.alloc(32, 1)),
    now_ms,
  );
  const user = { id: 'u1' } as unknown as User;
  const access = new UrlAccess({
    callers: { find: async () => undefined },
    sessions: { findUserByHash: async () => user },
    users: { roleIn: async () => undefined },
    cookies,
    toOrigin: () => origin,
    wrongTokens: createWrongTokens(now_ms),
    callerReader: { addressOf: () => '' },
    clock: { wall_ms: now_ms, mono_ms: now_ms },
  });
  const cookie = cookies.toSession(SPRITE_HOST, { user_id: 'u1', session_hash: 'h' }).split(';')[0];
  const request = { method: 'GET', headers: { cookie } } as unknown as IncomingMessage;
  const target = { type: 'sprite', port: undefined, found: undefined } as const;
  const judge = async () => {
    try {
      return await access.judge(request, SPRITE_HOST, target);
    } catch (error) {
      return (error as RemoraError).code;
    }
  };
  return { clock, judge };
}

/** The names at which a stranger may see no difference. */
const closed = [SPRITE_HOST, `8080--${SPRITE_HOST}`, 'nobody.acme.localhost', 'dev-1.nobody.localhost'];

describe('tokens', () => {
  test('the organization and the sprite itself get in, with full access only', async () => {
    const { ask, platform, machine } = opened();
    expect((await ask({ token: platform.token })).status).toBe(200);
    expect((await ask({ token: await machine.spriteToken() })).status).toBe(200);
    const reading = await platform.admin.createToken({ organization: 'acme', access: 'read' });
    expect((await ask({ token: reading })).status).toBe(404);
    expect((await ask({ token: machine.machineToken() })).status).toBe(404);
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
    const sibling = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' });
    expect((await ask({ token: sibling })).status).toBe(404);
  });

  test('a sprite of another organization and one that is not there look the same', async () => {
    const { ask, otherToken, proxyPort } = opened();
    const toSame = (text: string, host: string) =>
      text.replaceAll(`${host}:${proxyPort}`, 'HOST').replaceAll(host, 'HOST');
    const answers = await Promise.all(
      closed.map(async (host) => {
        const [token, nobody, page] = [
          await ask({ host, token: otherToken }),
          await ask({ host }),
          await ask({ host, headers: asPage }),
        ];
        const where = new URL(String(page.headers.location));
        return [
          [token.status, token.text],
          [nobody.status, nobody.text],
          [page.status, page.text, where.pathname, toSame(where.searchParams.get('redirect_uri') ?? '', host)],
        ];
      }),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(answers[0]?.map(([status]) => status)).toEqual([404, 401, 302]);
  });

  test('a token that is not valid is 401, and what was revoked is refused within two seconds', async () => {
    const { ask, platform } = opened();
    const headers = { authorization: 'Bearer remora_org_nothing' };
    expect((await ask({ headers })).status).toBe(401);
    const token = await platform.admin.createToken({ organization: 'acme', name: 'short' });
    expect((await ask({ token })).status).toBe(200);
    const row = (await platform.admin.listTokens('acme')).find(({ name }) => name === 'short');
    await platform.admin.revokeToken('acme', row?.id ?? '');
    await expect.poll(async () => (await ask({ token })).status).toBe(401);
  });
});

test('what is open ends when the access does', async () => {
  const { platform, proxyPort, setUrl } = opened();
  const token = await platform.admin.createToken({ organization: 'acme', name: 'streams' });
  const openEvents = async (credential: string) => {
    const raw = openRaw(proxyPort, `GET /events HTTP/1.1\r\nHost: ${SPRITE_HOST}\r\n${credential}\r\n`);
    await raw.until(/data: 1\n/);
    return raw;
  };
  const kept = await openEvents(`Authorization: Bearer ${platform.token.reveal()}\r\n`);
  const revoked = await openEvents(`Authorization: Bearer ${token.reveal()}\r\n`);
  const row = (await platform.admin.listTokens('acme')).find(({ name }) => name === 'streams');
  await platform.admin.revokeToken('acme', row?.id ?? '');
  expect((await revoked.ended).endsWith('0\r\n\r\n')).toBe(false);
  const seen = kept.text.length;
  await expect.poll(() => kept.text.length).toBeGreaterThan(seen);
  kept.socket.destroy();
  await setUrl({ auth: 'public' });
  const anybody = await openEvents('');
  await setUrl({ auth: 'sprite', private_access: 'organization' });
  await anybody.ended;
});

test('names that would be those of ports or apps are refused, and a domain on the site of sign-on', async () => {
  const { platform } = opened();
  const made = await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: '80--dev-1' } });
  expect([made.status, made.json.error]).toEqual([400, 'invalid_request']);
  await expect(platform.admin.createOrganization('apps')).rejects.toMatchObject({ code: 'invalid_request' });
  const proxy = { listen: { host: '127.0.0.1', port: 0 }, domain: 'sprites.example.com' };
  const opening = openTestPlatform({ publicUrl: 'https://api.example.com', proxy });
  await expect(opening).rejects.toMatchObject({ code: 'not_configured' });
});

describe('signing on', () => {
  /** Goes from the page that is asked for to the cookie. */
  async function signOn(user: { email: string; password: string }, path = '/describe?a=1') {
    const { ask, platform } = opened();
    const begun = await ask({ path, headers: asPage });
    expect(begun.status).toBe(302);
    const way = String(begun.headers['set-cookie']).split(';')[0] ?? '';
    const asked = new URL(String(begun.headers.location));
    expect(asked.origin).toBe(platform.url);
    const browser = new TestBrowser(platform.url);
    const back = await browser.signOn(asked.pathname + asked.search, user);
    const callback = new URL(back.location);
    expect(callback.host).toBe(`${SPRITE_HOST}:${opened().proxyPort}`);
    const land = (cookie: string, host = SPRITE_HOST) =>
      ask({ host, path: callback.pathname + callback.search, headers: { ...asPage, cookie } });
    return { way, callback, browser, land };
  }

  async function toCookie(user: { email: string; password: string }) {
    const { way, land, browser } = await signOn(user);
    const landed = await land(way);
    return { cookie: String(landed.headers['set-cookie']).split(';')[0] ?? '', landed, browser };
  }

  test('a browser comes back to the page that it asked for, and its cookie reaches nobody', async () => {
    const { ask, member, url } = opened();
    const { cookie, landed } = await toCookie(member);
    expect([landed.status, landed.headers.location]).toEqual([302, `${url}/describe?a=1`]);
    expect(String(landed.headers['set-cookie'])).toMatch(/; Path=\/; Max-Age=43200; HttpOnly; SameSite=Lax$/);
    const page = await ask({ path: '/describe?a=1', headers: { ...asPage, cookie: `${cookie}; own=1` } });
    expect(page.status).toBe(200);
    expect(page.json.rawHeaders[page.json.rawHeaders.indexOf('cookie') + 1]).toBe('own=1');
    expect(page.text).not.toContain('remora');
  });

  test('a code is good once, in the browser where its way began, and for its own name', async () => {
    const { admin } = opened();
    const other = await signOn(admin);
    expect((await other.land('')).status).toBe(403);
    expect((await other.land('remora-url-way='.padEnd(58, 'x'))).status).toBe(403);
    expect((await other.land(other.way, 'dev-2.acme.localhost')).status).toBe(403);
    expect((await other.land(other.way)).status).toBe(302);
    expect((await other.land(other.way)).status).toBe(403);
  });

  test('the cookie of one name opens no other', async () => {
    const { ask, admin, platform } = opened();
    const { cookie } = await toCookie(admin);
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-3' });
    for (const host of ['dev-3.acme.localhost', `8080--${SPRITE_HOST}`]) {
      expect((await ask({ host, headers: { cookie } })).status).toBe(401);
    }
  });

  test('who has no access sees what anybody sees of a name that is not there', async () => {
    const { ask, stranger, member, setUrl } = opened();
    const { cookie } = await toCookie(stranger);
    const denied = await ask({ headers: { ...asPage, cookie } });
    expect(denied.status).toBe(404);
    const inside = await toCookie(member);
    await setUrl({ auth: 'sprite', private_access: 'admins' });
    expect((await ask({ headers: { cookie: inside.cookie } })).status).toBe(404);
    await setUrl({ auth: 'sprite', private_access: 'organization' });
    expect((await ask({ headers: { cookie: inside.cookie } })).status).toBe(200);
  });

  test('a second cookie of the same name, set by a neighbour, neither signs on nor locks out', async () => {
    const { ask, member, stranger, platform, proxyPort } = opened();
    const own = (await toCookie(member)).cookie;
    const ofStranger = (await toCookie(stranger)).cookie;
    const planted = [`remora-url=${'a'.repeat(80)}.${'b'.repeat(43)}`, 'remora-url=', ofStranger, `${own}x`];
    const get = async (...cookies: string[]) =>
      (await ask({ path: '/describe', headers: { ...asPage, cookie: cookies.join('; ') } })).status;
    for (const other of planted) {
      expect([await get(other, own), await get(own, other)], other).toEqual([200, 200]);
      expect(await get(other)).toBe(other === ofStranger ? 404 : 302);
    }
    expect(await get(...planted, own)).toBe(200);

    // The way to sign-on too: whatever came first, what the browser gets for all paths leads back.
    const way = `remora-url-way=${'p'.repeat(43)}`;
    const begun = await ask({ path: '/describe', headers: { ...asPage, cookie: `${way}; ${way.replace('p', 'q')}` } });
    const kept = String(begun.headers['set-cookie']).split(';')[0] ?? '';
    const asked = new URL(String(begun.headers.location));
    const back = new URL((await new TestBrowser(platform.url).signOn(asked.pathname + asked.search, member)).location);
    expect(back.port).toBe(String(proxyPort));
    const path = back.pathname + back.search;
    expect((await ask({ path, headers: { ...asPage, cookie: `remora-url-way=${'z'.repeat(43)}` } })).status).toBe(403);
    const landed = await ask({ path, headers: { ...asPage, cookie: `remora-url-way=${'z'.repeat(43)}; ${kept}` } });
    expect([landed.status, String(landed.headers.location).endsWith('/describe')]).toEqual([302, true]);
  });

  test('over plain HTTP a session without access leads to sign-on again once it is no longer new', async () => {
    const plain = openAccess('http://dev-1.acme.localhost');
    expect(await plain.judge()).toBe('not_found');
    plain.clock.now += 61_000;
    expect(await plain.judge()).toBe('sign_on');
    const secure = openAccess('https://dev-1.acme.localhost');
    secure.clock.now += 61_000;
    expect(await secure.judge()).toBe('not_found');
  });

  test('who signs out, and who is no member any more, is out within two seconds', async () => {
    const { ask, operate } = opened();
    const leaving = {
      email: 'leaves@example.com',
      ...(await operate(
        'user',
        'create',
        'leaves@example.com',
        '--name',
        'Lea',
        '--organization',
        'acme',
        '--role',
        'member',
      )),
    };
    const { cookie, browser } = await toCookie(leaving);
    expect((await ask({ headers: { cookie } })).status).toBe(200);
    const out = await ask({ path: '/.remora/logout', headers: { ...asPage, 'sec-fetch-site': 'same-origin', cookie } });
    expect([out.status, out.headers.location]).toEqual([302, `${opened().platform.url}/oauth/sign-out`]);
    expect(String(out.headers['set-cookie'])).toMatch(/^remora-url=; /);
    await browser.get('/oauth/sign-out');
    await browser.submit({});
    await expect.poll(async () => (await ask({ headers: { cookie } })).status).toBe(401);
    const again = await toCookie(leaving);
    const words = ['platform', 'user', 'remove', 'leaves@example.com', '--organization', 'acme'];
    expect(await runHere([...words, '--dir', opened().platform.dir])).toMatchObject({ code: 0 });
    await expect.poll(async () => (await ask({ headers: { cookie: again.cookie } })).status).toBe(404);
  });

  test('sign-on sends nobody anywhere but to the way back of a name that is served', async () => {
    const { platform, member, proxyPort } = opened();
    const browser = new TestBrowser(platform.url);
    const toPath = (redirect_uri: string) =>
      `/oauth/authorize?${new URLSearchParams({ client_id: 'remora-urls', response_type: 'code', redirect_uri })}`;
    for (const redirect_uri of [
      `http://evil.example:${proxyPort}/.remora/callback`,
      `http://${SPRITE_HOST}:1/.remora/callback`,
      `https://${SPRITE_HOST}:${proxyPort}/.remora/callback`,
      `http://${SPRITE_HOST}:${proxyPort}/steal`,
      `http://${SPRITE_HOST}:${proxyPort}/.remora/callback?x`,
      `http://${SPRITE_HOST}:${proxyPort}@evil.example/.remora/callback`,
    ]) {
      expect((await browser.signOn(toPath(redirect_uri), member)).status).toBe(400);
    }
  });
});

describe('a page elsewhere', () => {
  const origin = `http://${SPRITE_HOST}`;
  const judge = (method: string, headers: IncomingMessage['headers']) =>
    toOriginFault({ method, headers }, origin) === undefined;
  test.each([
    ['the page itself', 'POST', { 'sec-fetch-site': 'same-origin', origin }, true],
    ['an address that was typed', 'GET', { 'sec-fetch-site': 'none' }, true],
    [
      'a link from another site',
      'GET',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      true,
    ],
    [
      'a form of another sprite',
      'POST',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      false,
    ],
    [
      'a frame in another sprite',
      'GET',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
      false,
    ],
    [
      'an image in another sprite',
      'GET',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
      false,
    ],
    [
      'a script of another sprite',
      'GET',
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' },
      false,
    ],
    ['an old browser, from elsewhere', 'POST', { origin: 'http://dev-2.acme.localhost' }, false],
    ['an old browser, from the page itself', 'POST', { origin }, true],
    ['a program', 'POST', {}, true],
    ['a WebSocket of the page', 'GET', { upgrade: 'websocket', origin }, true],
    [
      'a WebSocket of another sprite',
      'GET',
      { upgrade: 'WebSocket', origin: 'http://dev-2.acme.localhost', 'sec-fetch-site': 'same-origin' },
      false,
    ],
    ['a WebSocket of a page without an origin', 'GET', { upgrade: 'websocket', origin: 'null' }, false],
  ] as const)('%s', (_what, method, headers, expected) => expect(judge(method, headers)).toBe(expected));
});

test('the proxy has pages of its own, and no others below them', async () => {
  const { ask } = opened();
  for (const path of ['/.remora', '/.remora/', '/.remora/x', '/.remora/callback']) {
    expect([path, (await ask({ path })).status]).toEqual([path, path === '/.remora/callback' ? 403 : 404]);
  }
});
