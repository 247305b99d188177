// Sign-on at two platform processes on one PostgreSQL database: a code, a token and a lock-out are one thing, whichever is asked.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestPlatform } from '../support/open-platform.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import {
  exchange,
  openSignOnPlatform,
  readTokenInfo,
  TestBrowser,
  toAuthorizePath,
} from '../support/sign-on-client.ts';

describe.skipIf(isWithoutPostgres())('two platforms on one database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('share sessions, codes, tokens, their ends, and lock-outs', async () => {
    const database = await server.createDatabase();
    const one = await openSignOnPlatform({ database });
    const second = await openTestPlatform({ database });
    const other = { ...one, url: second.url };
    const path = toAuthorizePath(one, { organization_id: one.organization_id });

    // The session begins at one of them; the page of consent comes from the other.
    const [browser, elsewhere] = [new TestBrowser(one.url), new TestBrowser(other.url)];
    await browser.get(path);
    const { email, password } = one.user;
    expect((await browser.submit({ action: 'sign_in', email, password })).status).toBe(303);
    for (const [name, value] of browser.cookies) elsewhere.cookies.set(name, value);
    expect((await elsewhere.get(path)).text).toContain('value="allow"');
    const back = await elsewhere.submit({ action: 'allow' });
    const tokens = (await exchange(one, { code: back.query.code ?? '' })).json;
    expect((await readTokenInfo(other, tokens.access_token)).json.user_id).toBe(one.user.user_id);

    // One of many uses at once, at both, gets tokens at most, and those have ended.
    const code = (await browser.get(path)).query.code ?? '';
    const uses = await Promise.all(
      Array.from({ length: 8 }, (_, at) => exchange(at % 2 === 0 ? one : other, { code })),
    );
    const good = uses.filter(({ status }) => status === 200);
    expect(good.length).toBeLessThanOrEqual(1);
    expect(uses.filter(({ status }) => status === 400)).toHaveLength(8 - good.length);
    for (const { json } of good) expect((await readTokenInfo(other, json.access_token)).status).toBe(401);

    const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    const renewals = await Promise.all([exchange(one, refresh), exchange(other, refresh)]);
    expect(renewals.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    expect(renewals.every(({ status }) => status === 200 || status === 400)).toBe(true);

    const wrong = await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        const stranger = new TestBrowser(at % 2 === 0 ? one.url : other.url);
        await stranger.get(path);
        return (await stranger.submit({ action: 'sign_in', email, password: 'wrong' })).status;
      }),
    );
    expect(wrong.filter((status) => status === 401)).toHaveLength(5);
    expect(wrong.filter((status) => status === 429)).toHaveLength(7);

    // The end of the membership at one of them ends the token at the other, in the database itself.
    const last = (await browser.get(path)).query.code ?? '';
    const { json } = await exchange(other, { code: last });
    await one.operate('user', 'remove', email, '--organization', 'acme');
    await one.operate('user', 'set-role', email, '--organization', 'acme');
    expect((await readTokenInfo(other, json.access_token)).status).toBe(401);
    // So does the consent.
    expect((await elsewhere.get(path)).text).toContain('value="allow"');
    await one.operate('user', 'reset-password', email);
    expect((await elsewhere.get(path)).text).toContain('name="password"');
  });
});
