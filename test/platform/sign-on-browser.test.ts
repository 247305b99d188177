// Sign-on in a real browser: signing in, consent, denial, a wrong password, signing out, and what other sites cannot do.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createProviderHandler, type ProviderHandler, toNodeListener } from '../../src/provider/index.ts';
import { atEnd, openOnce } from '../support/at-end.ts';
import { isWithoutChromium, openChromiumOnce } from '../support/chromium.ts';
import { callSigned, KIT_SECRET, listen, plainFunctions, provisioning } from '../support/kit-provider.ts';
import {
  exchange,
  openSignOnPlatform,
  readTokenInfo,
  type SignOnPlatform,
  type TestUser,
  toAuthorizePath,
} from '../support/sign-on-client.ts';

interface Provider {
  readonly origin: string;
  /** The page that it shows at `/page`. */
  page: string;
  platform: SignOnPlatform | undefined;
}

/** The site of a provider: `/callback` takes the code and leads to `/home`, which says who it is. */
async function openProvider(): Promise<Provider> {
  const provider: Provider = { origin: '', page: '', platform: undefined };
  const html = (response: ServerResponse, text: string) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(`<!doctype html><body>${text}</body>`);
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', provider.origin);
    if (pathname === '/page') return void html(response, provider.page);
    if (pathname === '/home') return void html(response, `<h1>${searchParams.get('who')}</h1>`);
    if (pathname !== '/callback' || provider.platform === undefined) return void response.writeHead(404).end();
    const code = searchParams.get('code');
    let who = `refused: ${searchParams.get('error')}`;
    if (code !== null) {
      const { json } = await exchange(provider.platform, { code });
      who = `welcome ${(await readTokenInfo(provider.platform, json.access_token)).json.user_id}`;
    }
    response.writeHead(302, { location: `/home?${new URLSearchParams({ who })}` }).end();
  }
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(provider, { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

describe.skipIf(isWithoutChromium())('in a browser', () => {
  const openContext = openChromiumOnce();
  const opened = openOnce(async () => {
    const provider = await openProvider();
    const platform = await openSignOnPlatform({}, `${provider.origin}/callback`);
    provider.platform = platform;
    return { provider, platform };
  });
  let provider: Provider;
  let platform: SignOnPlatform;
  let start: string;
  beforeAll(() => {
    ({ provider, platform } = opened());
    start = platform.url + toAuthorizePath(platform, { state: 's', organization_id: platform.organization_id });
  });

  async function signIn(page: Page, { email }: TestUser, password: string): Promise<void> {
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  const title = (page: Page) => page.getByRole('heading').textContent();
  /** A click may be over before the page that it leads to is there. */
  const expectTitle = (page: Page, text: string) => expect.poll(() => title(page)).toBe(text);

  test.each([
    ['with scripts', true],
    ['without scripts', false],
  ])('a user signs in, allows it, and is known at the provider, %s', async (name, javaScriptEnabled) => {
    const user = await platform.createUser(`${name.replaceAll(' ', '-')}@example.com`);
    const context = await openContext({ javaScriptEnabled });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(start);
    await expectTitle(page, 'Sign in');
    await signIn(page, user, user.password);
    await expectTitle(page, 'Continue to sample?');
    expect(await page.getByRole('listitem').allInnerTexts()).toEqual(['acme']);
    expect(await page.getByText('Ada <b>').count()).toBe(1);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${provider.origin}/home?*`);
    await expectTitle(page, `welcome ${user.user_id}`);
    await page.goto(start);
    await expectTitle(page, `welcome ${user.user_id}`);
    const known = await context.cookies(platform.url);
    expect(known.map((each) => [each.httpOnly, each.sameSite])).toEqual([
      [true, 'Lax'],
      [true, 'Lax'],
      [true, 'Lax'],
    ]);
    expect(complaints.filter((text) => /security policy/i.test(text))).toEqual([]);
  });

  test('a provider that is made with the kit knows who comes, in the organization of the extension', async () => {
    const user = await platform.createUser('kit@example.com', 'acme', 'member');
    const users: unknown[] = [];
    const errors: unknown[] = [];
    let handler: ProviderHandler | undefined;
    const { url } = await listen((request, response) => handler && toNodeListener(handler)(request, response));
    const baseUrl = `${url}/remora`;
    const client = await platform.createClient('kit', `${baseUrl}/oauth/callback`);
    const { organization_id } = platform;
    handler = createProviderHandler({
      ...plainFunctions,
      baseUrl,
      provisioningSecrets: () => [KIT_SECRET],
      onError: (error) => errors.push(error),
      signOn({ resource_id, user: comes }) {
        if (comes === undefined) return undefined;
        users.push(comes);
        return { location: `/remora/boxes/${resource_id}` };
      },
      signOnSettings: {
        platformAuthUrl: platform.url,
        clientId: client.client_id,
        clientSecret: () => new Secret(client.client_secret),
      },
    });
    await callSigned(baseUrl, { method: 'POST', path: '/extensions', body: provisioning('e1', { organization_id }) });
    const page = await (await openContext()).newPage();
    const sso = `${baseUrl}/extensions/p-e1/sso`;
    await page.goto(sso);
    await signIn(page, user, user.password);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.waitForURL(`${baseUrl}/boxes/p-e1`);
    expect(users).toEqual([{ id: user.user_id, name: 'Ada <b>', email: user.email_alias, role: 'member' }]);
    expect(errors).toEqual([]);
  });

  test('who denies it comes back without a code, and is asked again', async () => {
    const user = await platform.createUser('denies@example.com');
    const page = await (await openContext()).newPage();
    await page.goto(start);
    await signIn(page, user, user.password);
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.waitForURL(`${provider.origin}/home?*`);
    await expectTitle(page, 'refused: access_denied');
    await page.goto(start);
    await expectTitle(page, 'Continue to sample?');
  });

  test('a wrong password is told, the address stays, and the right one goes on', async () => {
    const user = await platform.createUser('wrong@example.com');
    const page = await (await openContext()).newPage();
    await page.goto(start);
    await signIn(page, user, 'wrong');
    expect(await page.getByRole('alert').textContent()).toBe('The email address or the password is wrong.');
    expect(await page.getByLabel('Email address').inputValue()).toBe(user.email);
    expect(await page.getByLabel('Password').inputValue()).toBe('');
    await signIn(page, user, user.password);
    await expectTitle(page, 'Continue to sample?');
  });

  test('who signs out has to sign in again', async () => {
    const user = await platform.createUser('leaves@example.com');
    const page = await (await openContext()).newPage();
    await page.goto(start);
    await signIn(page, user, user.password);
    await page.getByRole('link', { name: 'Sign out' }).click();
    await expectTitle(page, 'Sign out');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expectTitle(page, 'Signed out');
    await page.goBack();
    await page.goto(start);
    await expectTitle(page, 'Sign in');
  });

  test('another site neither signs out, nor allows anything, nor shows the pages in a frame', async () => {
    const user = await platform.createUser('framed@example.com');
    const page = await (await openContext()).newPage();
    await page.goto(start);
    await signIn(page, user, user.password);
    await expectTitle(page, 'Continue to sample?');
    const form_token = (await page.locator('input[name=form_token]').first().getAttribute('value')) ?? '';
    for (const origin of [provider.origin, provider.origin.replace('127.0.0.1', 'localhost')]) {
      const field = `<input name="form_token" value="${form_token}">`;
      provider.page =
        `<form id="out" method="post" action="${platform.url}/oauth/sign-out">${field}<button>out</button></form>` +
        `<form method="post" action="${start.replaceAll('&', '&amp;')}">${field}<input name="action" value="allow"><button>allow</button></form>` +
        `<iframe src="${start.replaceAll('&', '&amp;')}"></iframe>`;
      await page.goto(`${origin}/page`);
      expect(await page.frameLocator('iframe').getByRole('heading').count()).toBe(0);
      await page.getByRole('button', { name: 'out' }).click();
      await expectTitle(page, 'Not signed out');
      await page.goto(`${origin}/page`);
      await page.getByRole('button', { name: 'allow' }).click();
      expect(['This page is not good any more', 'Sign in']).toContain(await title(page));
      await page.goto(start);
      await expectTitle(page, 'Continue to sample?');
    }
  });
});
