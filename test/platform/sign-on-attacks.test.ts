// What an attacker gains from sign-on who knows an email address, owns a provider, or has many tokens that are wrong: nothing, and
// nobody else loses anything.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createExchangeGrant } from '../../src/platform/sign-on/exchange-grant.ts';
import { createKnownGood } from '../../src/platform/sign-on/known-good.ts';
import { createLockOutStore } from '../../src/platform/sign-on/lock-out-store.ts';
import { createSessionStore } from '../../src/platform/sign-on/session-store.ts';
import { createSignIn } from '../../src/platform/sign-on/sign-in.ts';
import { createSignOnStore } from '../../src/platform/sign-on/sign-on-store.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import type { Storage } from '../../src/platform/storage/storage.ts';
import { createPasswords } from '../../src/platform/users/passwords.ts';
import { createUserStore } from '../../src/platform/users/user-store.ts';
import { openOnce } from '../support/at-end.ts';
import {
  createTestClock,
  exchange,
  openSignOnPlatform,
  REDIRECT_URI,
  readTokenInfo,
  type SignOnPlatform,
  TestBrowser,
  toAuthorizePath,
} from '../support/sign-on-client.ts';
import { tempDir } from '../support/temp-dir.ts';

const clock = createTestClock();
const many = { burst: 1_000_000, perSecond: 1_000_000 };
const opened = openOnce(() => openSignOnPlatform({ clock, signInRates: { ofAddress: many, ofAll: many } }));
let platform: SignOnPlatform;
beforeAll(() => {
  platform = opened();
});

const HERE = '127.0.0.1';
const ELSEWHERE = '127.0.0.2';

async function attempt(browser: TestBrowser, email: string, password: string, of = platform): Promise<number> {
  await browser.get(toAuthorizePath(of));
  return (await browser.submit({ action: 'sign_in', email, password })).status;
}

async function guess(address: string, email: string): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let round = 0; round < 6; round += 1) {
    statuses.push(await attempt(new TestBrowser(platform.url, address), email, 'wrong'));
  }
  return statuses;
}

const LOCKED = [401, 401, 401, 401, 401, 429];

describe('a stranger who guesses passwords', () => {
  test('shuts the user out in the own network only, and does not begin again in a second browser', async () => {
    const { email, password } = await platform.createUser('victim@example.com');
    expect(await guess(ELSEWHERE, email)).toEqual(LOCKED);
    expect(await attempt(new TestBrowser(platform.url, ELSEWHERE), email, password)).toBe(429);
    expect(await attempt(new TestBrowser(platform.url, HERE), email, password)).toBe(303);
    expect(await attempt(new TestBrowser(platform.url, ELSEWHERE), email, password)).toBe(429);
  });

  test('does not shut out a browser in which the user has signed in before, not even from the same address', async () => {
    const { email, password } = await platform.createUser('same@example.com');
    const known = new TestBrowser(platform.url);
    expect(await attempt(known, email, password)).toBe(303);
    await known.get('/oauth/sign-out');
    await known.submit({});
    expect(await guess(HERE, email)).toEqual(LOCKED);
    expect(await attempt(known, email.toUpperCase(), password)).toBe(303);
    const mark = known.cookies.get('remora-known') ?? '';
    expect(mark).toMatch(/^[\w-]{43}$/);

    const stranger = new TestBrowser(platform.url);
    stranger.cookies.set('remora-known', 'x'.repeat(43));
    expect(await attempt(stranger, email, password)).toBe(429);
    const other = await platform.createUser('other@example.com');
    expect(await guess(HERE, other.email)).toEqual(LOCKED);
    stranger.cookies.set('remora-known', mark);
    expect(await attempt(stranger, other.email, other.password)).toBe(429);
  });

  test('with the browser of the user is counted too', async () => {
    const { email, password } = await platform.createUser('stolen@example.com');
    const known = new TestBrowser(platform.url);
    expect(await attempt(known, email, password)).toBe(303);
    await known.get('/oauth/sign-out');
    await known.submit({});
    const statuses: number[] = [];
    for (let round = 0; round < 6; round += 1) statuses.push(await attempt(known, email, 'wrong'));
    expect(statuses).toEqual(LOCKED);
  });

  test('leaves nothing behind after a day, also when nobody signs in', async () => {
    const count = () => {
      using database = openDatabase(platform.dir);
      return (database.db.prepare('SELECT count(*) AS n FROM sign_in_failures').get() as { n: number }).n;
    };
    for (const name of ['a', 'b', 'c']) await attempt(new TestBrowser(platform.url), `${name}@nowhere.example`, 'x');
    expect(count()).toBeGreaterThanOrEqual(3);
    clock.pass(25 * 3_600_000);
    await attempt(new TestBrowser(platform.url), 'd@nowhere.example', 'x');
    await expect.poll(count).toBe(1);
  });

  test('who uses up the tries of all does not keep out browsers that are known', async () => {
    const strict = { ofAddress: { burst: 3, perSecond: 0.001 }, ofAll: { burst: 3, perSecond: 0.001 } };
    const other = await openSignOnPlatform({ signInRates: strict });
    const known = new TestBrowser(other.url);
    expect(await attempt(known, other.user.email, other.user.password, other)).toBe(303);
    await known.get('/oauth/sign-out');
    await known.submit({});
    for (let round = 0; round < 4; round += 1) {
      await attempt(new TestBrowser(other.url), `n${round}@example.com`, 'x', other);
    }
    expect(await attempt(new TestBrowser(other.url), other.user.email, other.user.password, other)).toBe(429);
    expect(await attempt(known, other.user.email, other.user.password, other)).toBe(303);
  });
});

test('a flood of wrong secrets and tokens does not shut out providers that are known', async () => {
  const other = await openSignOnPlatform({ wrongTokens: { ofAddress: { burst: 3, perSecond: 0.001 }, ofAll: many } });
  const browser = new TestBrowser(other.url);
  const codeOf = async () => (await browser.signOn(toAuthorizePath(other), other.user)).query.code ?? '';
  const first = await exchange(other, { code: await codeOf() });
  expect(first.status).toBe(200);
  const wrong = { ...other, client: { ...other.client, client_secret: 'wrong' } };
  for (let round = 0; round < 4; round += 1) await exchange(wrong, { code: 'x' });
  for (let round = 0; round < 4; round += 1) await readTokenInfo(other, 'x');
  expect((await exchange(wrong, { code: 'x' })).status).toBe(429);
  expect((await readTokenInfo(other, 'x')).status).toBe(429);
  expect((await readTokenInfo(other, first.json.access_token)).status).toBe(200);
  const second = await exchange(other, { code: await codeOf() });
  expect(second.status).toBe(200);
  expect((await readTokenInfo(other, second.json.access_token)).status).toBe(200);
  // It is checked as all others are: a secret that is good no longer is refused.
  await other.operate('extension-provider', 'delete', other.client.name);
  expect((await readTokenInfo(other, second.json.access_token)).status).toBe(401);
  expect((await exchange(other, { code: 'x' })).status).toBe(401);
  expect((await exchange(other, { code: 'x' })).status).toBe(429);
});

describe('consent', () => {
  const open = async (email: string, more: Readonly<Record<string, string>> = {}) => {
    const user = await platform.createUser(email);
    const browser = new TestBrowser(platform.url);
    return { user, browser, path: toAuthorizePath(platform, more) };
  };

  test('for one organization shows no other one, and gives no other one', async () => {
    await platform.operate('organization', 'create', 'private');
    const { user, browser, path } = await open('two@example.com', { organization_id: platform.organization_id });
    await platform.operate('user', 'set-role', user.email, '--organization', 'private', '--role', 'admin');
    expect((await browser.signOn(path, user)).query.code).toBeDefined();
    const { users } = await platform.operate('user', 'list');
    const organizations = users.find((each: { email: string }) => each.email === user.email).organizations;
    const { organization_id: other } = organizations.find(
      (each: { organization: string }) => each.organization === 'private',
    );
    for (const more of [{ organization_id: other }, {}]) {
      const answer = await browser.get(toAuthorizePath(platform, more));
      expect(answer).toMatchObject({ status: 200, location: '' });
      expect(answer.text).toContain('<li>private</li>');
    }
    using storage = openDatabase(platform.dir);
    const signOns = createSignOnStore(storage.sql);
    expect(await signOns.hasConsentIn(other, platform.client.name)).toBe(false);
    expect(await signOns.hasConsentIn(platform.organization_id, platform.client.name)).toBe(true);
  });

  test('does not grow with the memberships: neither a token nor a page that was shown before', async () => {
    await platform.operate('organization', 'create', 'later');
    const { user, browser, path } = await open('grows@example.com');
    const { query } = await browser.signOn(path, user);
    const { json } = await exchange(platform, { code: query.code ?? '' });
    const slow = await platform.createClient('slow', REDIRECT_URI);
    const page = toAuthorizePath({ client: slow, redirect_uri: REDIRECT_URI });
    expect((await browser.get(page)).text).not.toContain('<li>later</li>');
    await platform.operate('user', 'set-role', user.email, '--organization', 'later', '--role', 'admin');
    expect(await browser.submit({ action: 'allow' })).toMatchObject({ status: 403, location: '' });
    expect((await readTokenInfo(platform, json.access_token)).json.organizations).toEqual([
      { id: platform.organization_id, role: 'admin' },
    ]);
    expect((await browser.get(path)).text).toContain('<li>later</li>');
    expect((await browser.submit({ action: 'allow' })).query.code).toBeDefined();
    expect((await readTokenInfo(platform, json.access_token)).json.organizations).toHaveLength(2);
  });

  test('is that of the user who was shown the page, and of nobody else in the same browser', async () => {
    const { user, browser, path } = await open('shown@example.com');
    await browser.get(path);
    const page = await browser.follow(await browser.submit({ action: 'sign_in', ...user }));
    expect(page.text).toContain('value="allow"');
    const next = await open('next@example.com');
    await next.browser.get(path);
    await next.browser.submit({ action: 'sign_in', ...next.user });
    const [name = ''] = [...next.browser.cookies.keys()].filter((each) => each.endsWith('-session'));
    browser.cookies.set(name, next.browser.cookies.get(name) ?? '');
    expect(await browser.submit({ action: 'allow' })).toMatchObject({ status: 403, location: '' });
    using storage = openDatabase(platform.dir);
    expect((await createSignOnStore(storage.sql).listConsents(next.user.user_id, platform.client.name)).size).toBe(0);
  });

  test('ends with the membership, and is not that of another provider which takes the name', async () => {
    const { user, browser, path } = await open('again@example.com');
    const { query } = await browser.signOn(path, user);
    const { json: tokens } = await exchange(platform, { code: query.code ?? '' });
    await platform.operate('user', 'remove', user.email, '--organization', 'acme');
    await platform.operate('user', 'set-role', user.email, '--organization', 'acme', '--role', 'member');
    expect((await browser.get(path)).text).toContain('value="allow"');
    // What was begun before does not come back with a new membership.
    const grant = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    expect((await exchange(platform, grant)).json.error).toBe('invalid_grant');

    const client = await platform.createClient('reborn', REDIRECT_URI);
    await browser.signOn(toAuthorizePath({ client, redirect_uri: REDIRECT_URI }), user);
    await platform.operate('extension-provider', 'delete', 'reborn');
    const heir = await platform.createClient('reborn', REDIRECT_URI);
    const answer = await browser.get(toAuthorizePath({ client: heir, redirect_uri: REDIRECT_URI }));
    expect(answer).toMatchObject({ status: 200, location: '' });
    expect(answer.text).toContain('value="allow"');
  });
});

test('no other address is that of a user, only because Unicode has it in lower case', async () => {
  await using storage = await openSqliteStorage(tempDir());
  const users = createUserStore(storage);
  const { id } = await users.create({ email: 'Kate@example.com', name: 'Kate', password_hash: 'x' }, 1);
  expect((await users.findByEmail('kATE@EXAMPLE.com'))?.id).toBe(id);
  for (const other of ['\u212Aate@example.com', '\uFF2Bate@example.com', 'kate@example.com ']) {
    expect(await users.findByEmail(other)).toBeUndefined();
  }
});

test('of two refreshes that both found their token good, one makes tokens and the other ends them', async () => {
  const user = await platform.createUser('race@example.com');
  const { query } = await new TestBrowser(platform.url).signOn(toAuthorizePath(platform), user);
  const { json } = await exchange(platform, { code: query.code ?? '' });
  await using storage = openSqliteStorage(platform.dir);
  const both = Promise.withResolvers<void>();
  let found = 0;
  const one: Storage['one'] = async (text, values) => {
    const row = await storage.one(text, values);
    found += 1;
    if (found === 2) both.resolve();
    await both.promise;
    return row as never;
  };
  const exchangeGrant = createExchangeGrant({ storage: { ...storage, one }, clock, codeLifetime_ms: 60_000 });
  const client = { ...platform.client, base_url: 'https://provider.example', redirect_uris: [REDIRECT_URI] };
  const form = { grant_type: 'refresh_token', refresh_token: json.refresh_token };
  const ends = await Promise.allSettled([exchangeGrant(client, form), exchangeGrant(client, form)]);
  const made = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value.access_token] : []));
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.code] : []));
  expect([made.length, refused]).toEqual([1, ['invalid_grant']]);
  expect((await readTokenInfo(platform, made[0] ?? '')).status).toBe(401);
});

test('a name that nobody has costs as much as a wrong password', async () => {
  await using storage = await openSqliteStorage(tempDir());
  const users = createUserStore(storage);
  await users.create({ email: 'known@example.com', name: 'K', password_hash: 'stored' }, 1);
  const checked: unknown[] = [];
  const signIn = createSignIn({
    users,
    passwords: { check: async (_, stored) => checked.push(stored) > 100 },
    lockOuts: createLockOutStore(storage),
    clock,
  });
  for (const email of ['known@example.com', 'nobody@example.com']) {
    const visitor = { address: HERE, isKnown: false };
    expect(await signIn(email, new Secret('wrong'), visitor)).toEqual({ type: 'wrong' });
  }
  expect(checked).toEqual(['stored', undefined]);
  const passwords = createPasswords({ N: 2 ** 12, r: 8, p: 1 });
  const stored = await passwords.hash(new Secret('right'));
  const cost_us = async (given: string | undefined) => {
    const { user, system } = process.cpuUsage();
    for (let count = 0; count < 4; count += 1) await passwords.check(new Secret('wrong'), given);
    const spent = process.cpuUsage();
    return spent.user + spent.system - user - system;
  };
  // The least of several: other work of this process counts too.
  let [ofNobody_us, ofStored_us] = [Infinity, Infinity];
  for (let round = 0; round < 3; round += 1) {
    ofNobody_us = Math.min(ofNobody_us, await cost_us(undefined));
    ofStored_us = Math.min(ofStored_us, await cost_us(stored));
  }
  // Nothing at all would be a hundredth of it.
  expect(ofNobody_us / ofStored_us).toBeGreaterThan(0.2);
});

test('a user has fifty sessions, and credentials that were good are remembered up to a bound', async () => {
  await using storage = await openSqliteStorage(tempDir());
  const hash = { email: 'a@example.com', name: 'A', password_hash: 'x' };
  const user = await createUserStore(storage).create(hash, 1);
  const sessions = createSessionStore(storage);
  const made = [];
  for (let round = 1; round <= 52; round += 1) made.push(await sessions.create(user.id, round));
  const found = await Promise.all(made.map((session) => sessions.findUser(session, 60)));
  expect(found.map((each) => each?.id === user.id)).toEqual(made.map((_, index) => index >= 2));

  const known = createKnownGood(2);
  for (const text of ['a', 'b', 'a', 'c']) known.learn(text);
  expect(['a', 'b', 'c'].map((text) => known.has(text))).toEqual([true, false, true]);
  known.forget('a');
  expect(known.has('a')).toBe(false);
});

function openDatabase(dir: string) {
  const db = new Database(join(dir, 'platform.db'), { readonly: true });
  const toPlain = (text: string) => text.replaceAll(/\$\d+/g, '?');
  const sql = {
    all: async <T>(text: string, values: readonly unknown[] = []) => db.prepare(toPlain(text)).all(...values) as T[],
    one: async <T>(text: string, values: readonly unknown[] = []) =>
      db.prepare(toPlain(text)).get(...values) as T | undefined,
    run: () => Promise.reject(new Error('it is only read')),
  };
  return { db, sql, [Symbol.dispose]: () => void db.close() };
}
