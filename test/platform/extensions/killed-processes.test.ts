// `remora platform` and a provider made with the kit, each a process that is killed between the steps of a change: nothing is made twice,
// forgotten or left, and no secret of provider, user or extension is to be found in the clear.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openKillableExtensions, type Side } from '../../support/killable-extensions.ts';
import { readIfThere } from '../../support/read-if-there.ts';
import { exchange, REDIRECT_URI, readTokenInfo, TestBrowser, toAuthorizePath } from '../../support/sign-on-client.ts';

const opened = openOnce(openKillableExtensions);

/** Where the provider is with a request: it has not begun, it is done and not recorded, it is recorded and not answered. */
const STEPS = ['before', 'after', 'answer'] as const;
const SIDES: readonly Side[] = ['platform', 'provider'];

/** Waits until it is there, however long its provider takes. */
async function make(name: string, where = name): Promise<void> {
  const { create, list } = opened();
  expect([201, 202], where).toContain((await create(name)).status);
  await eventually(async () => (await list()).some((each) => each.name === name && each.state === 'ready'));
}

/** Waits until nothing is under way, and checks that both sides have the same. */
async function agree(where: string) {
  const { list, listResources, call } = opened();
  const found = await eventually(async () => {
    const now = await list();
    return now.every(({ state }) => state === 'ready' || state === 'failed') ? now : undefined;
  });
  expect(
    found.filter(({ state }) => state !== 'ready').map(({ name }) => name),
    where,
  ).toEqual([]);
  const resources = listResources();
  expect(resources.map(({ extension, id }) => `${extension} kit-${id}`).sort(), where).toEqual(
    found.map(({ id, provider_id }) => `${id} ${provider_id}`).sort(),
  );
  const { secrets } = (await call('GET', '/v1/apps/web/secrets')).json;
  expect(secrets.map(({ name }: { name: string }) => name).sort(), where).toEqual(
    found.map(({ id }) => `KEY_${id.toUpperCase()}`).sort(),
  );
  return { found, resources };
}

test('a kill of either side between any two steps leaves each resource once, as the record says', async () => {
  const { create, call, command, reach, replace } = opened();
  for (const side of SIDES) {
    for (const step of STEPS) {
      const where = `${side}, ${step}`;
      const toName = (what: string) => `${what}-${side}-${step}`;
      for (const what of ['changed', 'removed']) await make(toName(what), where);
      await command(`hold ${step}`);
      const calls = Promise.allSettled([
        create(toName('made')),
        call('PATCH', `/v1/extensions/${toName('changed')}`, { primary_region: 'fra' }),
        call('DELETE', `/v1/extensions/${toName('removed')}`),
      ]);
      await reach(step, 3);
      await replace(side);
      if (side === 'platform') await command('go');
      await calls;
      const { found, resources } = await agree(where);
      const names = found.map(({ name }) => name).filter((name) => name.endsWith(toName('')));
      expect(names.sort(), where).toEqual([toName('changed'), toName('made')]);
      const changed = found.find(({ name }) => name === toName('changed'))?.id;
      expect(resources.find(({ extension }) => extension === changed)?.region, where).toBe('fra');
    }
  }
}, 180_000);

test('a webhook is not lost with the process that sends it, nor with the one that takes it', async () => {
  const { command, replace, list } = opened();
  await make('told');
  for (const side of SIDES) {
    const status = `seen-by-${side}`;
    await command(`tell ${status}`);
    await replace(side);
    await eventually(async () => (await list()).every((each) => each.status === status));
  }
});

function listFiles(dir: string): readonly string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

test('no secret of provider, user or extension is in a file, a log, an answer or the words of a process', async () => {
  const { own, keyFile, tokenFile, said, url, client, user, operate, call, list, pids } = opened();
  await make('last');
  const of = { url, client, redirect_uri: REDIRECT_URI };
  const stranger = new TestBrowser(url);
  await stranger.get(toAuthorizePath(of));
  const wrong = await stranger.submit({ action: 'sign_in', email: user.password, password: `${user.password}x` });
  expect(wrong.status).toBe(401);
  const browser = new TestBrowser(url);
  const { query } = await browser.signOn(toAuthorizePath(of, { state: 's' }), user);
  const tokens = (await exchange(of, { code: query.code ?? '' })).json;
  expect((await readTokenInfo(of, tokens.access_token)).status).toBe(200);
  const answers: unknown[] = [
    await readTokenInfo(of, tokens.access_token),
    await exchange(of, { code: query.code ?? '' }),
    await readTokenInfo(of, tokens.access_token),
    await exchange({ ...of, client: { ...client, client_id: client.client_secret } }, { code: 'x' }),
    await operate('extension-provider', 'list'),
    await operate('user', 'list'),
  ];
  const rotated = await operate('extension-provider', 'rotate-secret', 'kit', 'webhook');
  const found = await list();
  const paths = ['/v1/health', '/v1/extensions', '/v1/apps/web/secrets', '/v1/openapi.json', '/metrics', '/v1/sprites'];
  for (const path of [...paths, ...found.map(({ id }) => `/v1/extensions/${id}`)])
    answers.push((await call('GET', path)).text);
  answers.push((await call('POST', '/v1/extensions', { provider: client.webhook_secret, name: 'x' })).status);

  const ofExtensions = found.map(({ id }) => `canary-config-${id}`);
  const { provisioning_secret, webhook_secret, client_secret } = client;
  const ofProvider = [provisioning_secret, webhook_secret, client_secret, rotated.webhook_secret];
  const ofUser = [user.password, query.code, tokens.access_token, tokens.refresh_token, ...browser.cookies.values()];
  const secrets = [...ofExtensions, ...ofProvider, ...ofUser].map(String);
  for (const secret of secrets) expect(secret.length).toBeGreaterThanOrEqual(20);
  const read = (path: string) => readIfThere(path, 'latin1') ?? '';
  const places = new Map(
    listFiles(own)
      .filter((path) => path !== keyFile && path !== tokenFile)
      .map((path) => [path, read(path)]),
  );
  expect([...places.keys()].filter((path) => path.endsWith('.db')).length).toBeGreaterThanOrEqual(3);
  places.set('what both have said', said.join('\n'));
  places.set('answers', JSON.stringify(answers));
  for (const pid of pids()) {
    places.set(`environment of ${pid}`, read(`/proc/${pid}/environ`));
    places.set(`words of ${pid}`, read(`/proc/${pid}/cmdline`));
  }
  const leaks = [...places].flatMap(([place, text]) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => `${secret} in ${place}`),
  );
  expect(leaks).toEqual([]);
  expect(places.get('what both have said')).toContain('a provider was asked');
});
