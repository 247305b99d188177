// The URL of a sprite in a real browser: signing on and back to the page, a WebSocket of the page, signing out, somebody without access, and
// what a page of another sprite gets of it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { atEnd, openOnce } from '../../support/at-end.ts';
import { isWithoutChromium, openChromiumOnce } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { openProxiedMachine } from '../../support/proxied-machine.ts';
import { runHere } from '../../support/run-here.ts';

interface Person {
  readonly email: string;
  readonly password: string;
}

/** A page of another sprite of the organization, which is on the same site: it may send whatever a page can. */
async function openHostilePage(target: string): Promise<string> {
  const html = `<!doctype html><h1>hostile</h1><p id="done"></p><p id="worker"></p><form method="post" action="${target}/steal-form" target="framed"></form>
    <iframe name="framed" src="${target}/steal-frame"></iframe><img src="${target}/steal-image"><img src="/hop/steal-redirected-image">
    <script>
      // The cookie is as if the target had set it, which is on the same site.
      document.cookie = 'remora-url=forged; path=/; domain=acme.localhost';
      const workerTries = async () => {
        await navigator.serviceWorker.register('/worker.js');
        await navigator.serviceWorker.ready;
        await new Promise((resolve) => {
          if (navigator.serviceWorker.controller) resolve();
          else navigator.serviceWorker.oncontrollerchange = resolve;
        });
        await fetch('/through-the-worker', { mode: 'no-cors' }).catch(() => undefined);
        document.getElementById('worker').textContent = 'tried';
      };
      const tries = [
        fetch('${target}/steal-fetch', { credentials: 'include', mode: 'no-cors' }),
        fetch('${target}/steal-post', { method: 'POST', credentials: 'include', mode: 'no-cors', body: 'a' }),
        fetch('${target}/.remora/logout', { credentials: 'include', mode: 'no-cors', redirect: 'manual' }),
        new Promise((resolve) => {
          const socket = new WebSocket('${target.replace('http', 'ws')}/steal-socket');
          socket.onopen = () => resolve('open');
          socket.onerror = () => resolve('refused');
        }),
        fetch('/hop/steal-redirect', { credentials: 'include', mode: 'no-cors' }),
        fetch('/hop/steal-redirected-post', { method: 'POST', credentials: 'include', mode: 'no-cors', body: 'a' }),
        workerTries(),
      ];
      document.forms[0].submit();
      Promise.allSettled(tries).then((all) => { document.getElementById('done').textContent = all[3].value; });
    </script>`;
  const worker = `self.onactivate = (event) => event.waitUntil(self.clients.claim());
    self.onfetch = (event) => {
      if (!event.request.url.endsWith('/through-the-worker')) return;
      event.respondWith(fetch('${target}/steal-worker', { credentials: 'include', mode: 'no-cors' }));
    };`;
  const server = createServer(({ url = '/' }, response) => {
    const hop = /^\/hop(\/.*)$/.exec(url)?.[1];
    if (hop !== undefined) response.writeHead(307, { location: target + hop }).end();
    else if (url === '/worker.js') response.setHeader('content-type', 'text/javascript').end(worker);
    else response.setHeader('content-type', 'text/html').end(html);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://evil.acme.localhost:${(server.address() as AddressInfo).port}/`;
}

describe.skipIf(isWithoutChromium())('in a browser', () => {
  const openContext = openChromiumOnce();
  const opened = openOnce(async () => {
    const proxied = await openProxiedMachine();
    const { platform, setUrl, url } = proxied;
    await setUrl({ auth: 'sprite', private_access: 'admins' });
    async function createUser(email: string, role: string): Promise<Person> {
      const words = ['platform', 'user', 'create', email, '--name', 'Ada', '--organization', 'acme', '--role', role];
      const { out } = await runHere([...words, '--json', '--dir', platform.dir]);
      return { email, password: JSON.parse(out).password };
    }
    const [admin, member] = [await createUser('a@example.com', 'admin'), await createUser('m@example.com', 'member')];
    return { ...proxied, admin, member, hostile: await openHostilePage(url) };
  });
  let url: string;
  beforeAll(() => {
    ({ url } = opened());
  });

  async function signIn(page: Page, { email, password }: Person): Promise<void> {
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
  }

  const title = (page: Page) => page.getByRole('heading').textContent();
  /** A click may be over before the page that it leads to is there. */
  const expectTitle = (page: Page, text: string) => expect.poll(() => title(page)).toBe(text);
  const arrivals = async (): Promise<readonly { readonly url: string }[]> =>
    JSON.parse((await opened().ask({ path: '/arrivals', token: opened().platform.token })).text).arrivals;

  test('a person signs on, comes back to the page, which opens a WebSocket, and signs out', async () => {
    const { admin, platform } = opened();
    const context = await openContext();
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on('console', (message) => complaints.push(message.text()));
    await page.goto(`${url}/page?a=1#part`);
    await expectTitle(page, 'Sign in');
    expect(await page.getByText('to continue to dev-1.acme.localhost').count()).toBe(1);
    await signIn(page, admin);
    await page.waitForURL(`${url}/page?a=1*`);
    await expectTitle(page, 'inside');
    await page.getByText('from the page').waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.goto(`${url}/.remora/logout`);
    await expectTitle(page, 'Sign out');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expectTitle(page, 'Signed out');
    await page.goto(`${url}/page`);
    expect([await title(page), new URL(page.url()).origin]).toEqual(['Sign in', platform.url]);
    expect(complaints.filter((text) => /security policy|refused/i.test(text))).toEqual([]);
  });

  test('a person without access is told so, and reads nothing of it', async () => {
    const page = await (await openContext()).newPage();
    await page.goto(`${url}/page`);
    await signIn(page, opened().member);
    await page.waitForURL(`${url}/page`);
    await expectTitle(page, 'Nothing here');
  });

  test('a page of another sprite, its worker and its redirects get nothing in, with the cookie of a person who is signed on', async () => {
    const page = await (await openContext()).newPage();
    await page.goto(`${url}/page`);
    await signIn(page, opened().admin);
    await page.waitForURL(`${url}/page`);
    await page.goto(opened().hostile);
    const said = await eventually(async () => (await page.locator('#done').textContent()) || undefined);
    expect(said).toBe('refused');
    expect(await page.locator('#worker').textContent()).toBe('tried');
    await page.waitForLoadState('networkidle');
    expect((await arrivals()).filter(({ url: asked }) => asked.includes('steal'))).toEqual([]);
    // The person is not locked out by the cookie, and no worker of the other page stands between.
    await page.goto(`${url}/page`);
    await expectTitle(page, 'inside');
    expect(await page.evaluate('navigator.serviceWorker.getRegistrations().then((all) => all.length)')).toBe(0);
  });
});
