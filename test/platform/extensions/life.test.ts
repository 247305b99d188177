// The life of an extension: provisioned, given to an app, changed, deleted, at a provider that does what it is asked.
import { expect, test } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestPlatform, TEST_KEY } from '../../support/open-platform.ts';
import { IMPATIENT, openExtensions, QUICK } from '../../support/provisioner.ts';

test('an extension is provisioned at once, its app gets the variables, and no answer has a value', async () => {
  const { provider, platform, user, call, create, read, variables } = await openExtensions();
  const made = await create('my-kv', { app: 'web' });
  expect([made.status, made.json]).toMatchObject([
    201,
    { name: 'my-kv', provider: 'kv', organization: 'acme', state: 'ready', status: 'ready', plan: 'small', app: 'web' },
  ]);
  const { id } = made.json;
  expect(made.json).toMatchObject({ provider_id: `r-${id}`, variables: ['KV_KEY', 'KV_URL'], error: null });
  expect(made.json.sso_url).toBe(`${provider.base_url}/extensions/r-${id}/sso`);
  expect(await variables()).toEqual(['KV_KEY', 'KV_URL']);
  const [post] = provider.of('POST');
  const organization = (await platform.admin.listOrganizations())[0];
  expect(post?.json).toEqual({
    name: 'my-kv',
    id,
    organization_id: organization?.id,
    organization_name: 'acme',
    organization_email: expect.stringMatching(/^o-[0-9a-f]{20}@users\.invalid$/),
    user_id: user.id,
    user_email: user.email_alias,
    user_role: 'admin',
    url: `${provider.base_url}/extensions`,
    nonce: expect.stringMatching(/^[\w-]{16,}$/),
    timestamp: expect.closeTo(Date.now() / 1_000, -2),
  });
  expect((await read('my-kv')).resource).toMatchObject({ region: 'fra' });
  const answers = [
    made,
    await call('GET', '/v1/extensions'),
    await read('my-kv'),
    await call('GET', '/v1/apps/web/secrets'),
  ];
  expect(JSON.stringify([answers, platform.log])).not.toContain('canary');
  expect((await create('my-kv')).json.error).toBe('already_exists');
});

test('a deletion takes the variables away at once, and goes on until the provider has nothing left', async () => {
  const { provider, call, create, read, variables } = await openExtensions();
  const { id } = (await create('my-kv', { app: 'web' })).json;
  let refusals = 3;
  provider.spoil(({ method }, response) => {
    if (method !== 'DELETE' || refusals-- <= 0) return false;
    response.writeHead(refusals === 1 ? 202 : 500).end();
    return true;
  });
  const asking = call('DELETE', '/v1/extensions/my-kv');
  await eventually(async () => (await variables()).length === 0);
  expect((await asking).status).toBe(204);
  expect(provider.resources.size).toBe(0);
  expect(provider.of('DELETE').length).toBe(4);
  expect(new Set(provider.of('DELETE').map(({ query }) => query)).size).toBe(4);
  expect((await call('GET', '/v1/extensions')).json.extensions).toEqual([]);
  expect((await read(id)).state).toBe('deleted');
  expect((await create('my-kv')).status).toBe(201);
});

test('a slow provider is waited for after the answer, and its status is asked for until it is ready', async () => {
  const { provider, create, read } = await openExtensions({
    extensionTimes: { ...IMPATIENT, provision_ms: QUICK.provision_ms },
  });
  provider.spoil(async ({ method }, response) => {
    if (method === 'POST') await new Promise((resolve) => setTimeout(resolve, 200));
    if (method !== 'GET' || provider.of('GET').length > 12) return false;
    response.end(JSON.stringify({ id: 'x', status: 'provisioning' }));
    return true;
  });
  const first = await create('my-kv', { app: 'web' });
  expect([first.status, first.json.state]).toEqual([202, 'provisioning']);
  await eventually(async () => (await read('my-kv')).state === 'ready');
  expect(provider.of('POST').length).toBe(1);
  expect(provider.of('GET').length).toBe(13);
});

test('a change of app moves the variables, and it, regions and the name of the organization are told to the provider', async () => {
  const { provider, platform, call, create, variables } = await openExtensions();
  await call('POST', '/v1/apps', { name: 'other' });
  await create('my-kv', { app: 'web' });
  const moved = await call('PATCH', '/v1/extensions/my-kv', { app: 'other' });
  expect([moved.status, moved.json.app, moved.json.state]).toEqual([200, 'other', 'ready']);
  expect([await variables('web'), await variables('other')]).toEqual([[], ['KV_KEY', 'KV_URL']]);
  expect((await call('PATCH', '/v1/extensions/my-kv', { app: 'nobody' })).json.error).toBe('invalid_request');
  expect((await call('PATCH', '/v1/extensions/my-kv', { primary_region: 'fra', read_regions: ['ams'] })).status).toBe(
    200,
  );
  expect(provider.of('PATCH').length).toBe(2);
  expect(provider.of('PATCH')[1]?.json).not.toHaveProperty('primary_region');
  expect((await call('PATCH', '/v1/extensions/my-kv', { primary_region: 'fra' })).status).toBe(200);
  expect(provider.of('PATCH').length).toBe(2);
  const { runHere } = await import('../../support/run-here.ts');
  const words = ['platform', 'organization', 'update', 'acme', '--display-name', 'Acme & Co', '--dir', platform.dir];
  expect((await runHere(words)).code).toBe(0);
  await eventually(() => provider.of('PATCH').length === 3);
  expect(provider.of('PATCH')[2]?.json).toMatchObject({ organization_name: 'Acme & Co', name: 'my-kv' });
});

test('regions go to a provider that knows them', async () => {
  const { provider, platform, create } = await openExtensions();
  const { runHere } = await import('../../support/run-here.ts');
  await runHere(['platform', 'extension-provider', 'update', 'kv', '--region-aware', '--dir', platform.dir]);
  await create('my-kv', { primary_region: 'fra', read_regions: ['ams', 'lhr'] });
  const shown = await runHere(['platform', 'extension', 'show', 'my-kv', '--dir', platform.dir]);
  expect(shown.out).toMatch(/\nprimary_region +fra\nread_regions +ams lhr\n/);
  expect(provider.of('POST')[0]?.json).toMatchObject({ primary_region: 'fra', read_regions: ['ams', 'lhr'] });
});

test('an update that is refused leaves it ready, says why, and can be tried again', async () => {
  const { provider, call, create } = await openExtensions();
  await create('my-kv');
  provider.spoil(({ method }, response) => {
    if (method !== 'PATCH' || provider.of('PATCH').length > 1) return false;
    response.writeHead(422).end(JSON.stringify({ error: { message: 'no \u001b[31mred\u001b[0m region' } }));
    return true;
  });
  const refused = await call('PATCH', '/v1/extensions/my-kv', { primary_region: 'fra' });
  expect(refused.json).toMatchObject({
    state: 'ready',
    error: { code: 'provider_refused', message: 'the provider answered 422: no [31mred [0m region' },
  });
  const again = await call('POST', '/v1/extensions/my-kv/retry');
  expect([again.status, again.json.state, again.json.error]).toEqual([200, 'ready', null]);
  expect((await call('POST', '/v1/extensions/my-kv/retry')).json.error).toBe('invalid_state');
});

test('a name of a variable that somebody else has set fails the extension, names both owners, and changes nothing', async () => {
  const { provider, call, create, read, variables } = await openExtensions();
  await call('PUT', '/v1/apps/web/secrets/KV_KEY', { value: 'mine' });
  const made = await create('my-kv', { app: 'web' });
  expect([made.status, made.json.error]).toEqual([409, 'secret_conflict']);
  expect(made.json.message).toMatch(
    /KV_KEY .*an operator.*the extension ext_.*retry the extension my-kv.*or delete it$/,
  );
  expect(await variables()).toEqual(['KV_KEY']);
  expect(await read(made.json.id)).toMatchObject({ state: 'failed', error: { code: 'secret_conflict' } });
  expect((await call('POST', '/v1/extensions/my-kv/retry')).status).toBe(409);
  await call('DELETE', '/v1/apps/web/secrets/KV_KEY');
  const again = await call('POST', '/v1/extensions/my-kv/retry');
  expect([again.status, again.json.state]).toEqual([200, 'ready']);
  expect(await variables()).toEqual(['KV_KEY', 'KV_URL']);
  expect(provider.of('POST').length).toBe(1);
  expect((await call('DELETE', '/v1/extensions/my-kv')).status).toBe(204);
  expect(provider.resources.size).toBe(0);
});

test('who asks is a user of the organization: the one that is named, or whom the token was made for', async () => {
  const { platform, user, create, read } = await openExtensions();
  const nobody = await platform.call({ method: 'POST', path: '/v1/extensions', body: { provider: 'kv', name: 'a' } });
  expect([nobody.status, nobody.json.details.fields[0].field]).toEqual([400, 'body.user_id']);
  expect((await create('a', { user_id: 'user_none' })).json.error).toBe('invalid_request');
  expect((await create('a', { user_id: user.id })).json.user_id).toBe(user.id);
  expect((await create('b', { provider: 'none' })).json.details.fields[0].field).toBe('body.provider');
  await platform.admin.createUser({ email: 'later@acme.example', name: 'Later', organization: 'acme', role: 'admin' });
  const { runHere } = await import('../../support/run-here.ts');
  const words = ['platform', 'extension', 'create', 'kv', 'my-kv', '--app', 'web', '--dir', platform.dir];
  const made = await runHere(words);
  expect([made.code, made.out]).toEqual([0, expect.stringMatching(/\nvariables +KV_KEY KV_URL$/)]);
  expect(made.err).toMatch(/^asking kv for my-kv/);
  expect(await read('my-kv')).toMatchObject({ user_id: user.id });
  const opened = await runHere(['platform', 'extension', 'open', 'my-kv', '--dir', platform.dir]);
  expect(opened.out).toMatch(/^http:\S+\/extensions\/r-ext_\w+\/sso$/);
  const list = await runHere(['platform', 'extension', 'list', '--dir', platform.dir]);
  expect(list.out).toMatch(/\nmy-kv +ext_\w+ +kv +ready +ready +small +web/);
  expect((await runHere(['platform', 'extension', 'delete', 'my-kv', '--dir', platform.dir])).out).toBe(
    'my-kv is deleted',
  );
  expect((await runHere(['platform', 'extension', 'show', 'my-kv', '--dir', platform.dir])).code).toBe(1);
});

test('a sign-on is a redirect to the provider, for the organization that has the extension', async () => {
  const { provider, platform, token, create } = await openExtensions();
  const { id } = (await create('my-kv')).json;
  const open = (bearer = token) =>
    fetch(`${platform.url}/v1/extensions/my-kv/sso`, {
      redirect: 'manual',
      headers: { authorization: `Bearer ${bearer.reveal()}` },
    });
  const answer = await open();
  expect([answer.status, answer.headers.get('location')]).toEqual([302, `${provider.base_url}/extensions/r-${id}/sso`]);
  await platform.admin.createOrganization('other');
  const other = await platform.admin.createToken({ organization: 'other' });
  expect((await open(other)).status).toBe(404);
  // Neither by its name nor by its id, whatever is asked.
  for (const name of ['my-kv', id]) {
    const path = `/v1/extensions/${name}`;
    const calls: readonly (readonly [string, string, object?])[] = [
      ['GET', path],
      ['GET', `${path}/sso`],
      ['GET', `${path}/costs`],
      ['PATCH', path, { primary_region: 'fra' }],
      ['POST', `${path}/retry`],
      ['DELETE', path],
    ];
    for (const [method, target, body] of calls) {
      const { status } = await platform.call({ method, path: target, body, token: other });
      expect([method, target, status]).toEqual([method, target, 404]);
    }
  }
  expect(provider.of('DELETE')).toEqual([]);
});

test('no extension is made in the name of a user of another organization', async () => {
  const { provider, platform, create } = await openExtensions();
  await platform.admin.createOrganization('other');
  const stranger = { email: 'eve@other.example', name: 'Eve', organization: 'other', role: 'admin' } as const;
  const eve = (await platform.admin.createUser(stranger)).user;
  const refused = await create('a', { user_id: eve.id });
  expect([refused.status, refused.json.details.fields[0].field]).toEqual([400, 'body.user_id']);
  expect(provider.asked).toEqual([]);
});

test('the variables of an extension go to no app of another organization', async () => {
  const { provider, platform, create, call } = await openExtensions();
  await platform.admin.createOrganization('other');
  const other = await platform.admin.createToken({ organization: 'other' });
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'foreign' }, token: other });
  await create('my-kv', { app: 'web' });
  for (const refused of [
    await create('next', { app: 'foreign' }),
    await call('PATCH', '/v1/extensions/my-kv', { app: 'foreign' }),
  ]) {
    expect(refused).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
    expect(refused.json.message).toContain('there is no app foreign');
  }
  const { secrets } = (await platform.call({ path: '/v1/apps/foreign/secrets', token: other })).json;
  expect(secrets).toEqual([]);
  expect(provider.of('POST').length).toBe(1);
});

test('an organization that is deleted takes its extensions with it, also at their providers', async () => {
  const { provider, platform, create } = await openExtensions();
  await create('my-kv', { app: 'web' });
  const { runHere } = await import('../../support/run-here.ts');
  const remove = (...words: string[]) =>
    runHere(['platform', 'organization', 'delete', 'acme', ...words, '--dir', platform.dir]);
  expect((await remove()).err).toContain('conflict');
  expect((await remove('--force')).code).toBe(0);
  await eventually(() => provider.resources.size === 0);
  const forget = () => runHere(['platform', 'extension-provider', 'delete', 'kv', '--dir', platform.dir]);
  await eventually(async () => (await forget()).code === 0);
});

test('a provider with extensions is not forgotten', async () => {
  const { platform, create } = await openExtensions();
  await create('my-kv');
  const { runHere } = await import('../../support/run-here.ts');
  const { err } = await runHere(['platform', 'extension-provider', 'delete', 'kv', '--dir', platform.dir]);
  expect(err).toContain('an extension; delete them first');
});

test('a secret that was changed at the platform first is followed by the former one', async () => {
  const { provider, platform, create } = await openExtensions();
  const { runHere } = await import('../../support/run-here.ts');
  await runHere(['platform', 'extension-provider', 'rotate-secret', 'kv', 'provisioning', '--dir', platform.dir]);
  expect((await create('my-kv')).json.state).toBe('ready');
  expect(provider.forged()).toBeGreaterThan(0);
});

test('a platform that does not run shows its extensions, and asks no provider', async () => {
  const { provider, platform, create } = await openExtensions();
  await create('my-kv');
  await platform[Symbol.asyncDispose]();
  const { runHere } = await import('../../support/run-here.ts');
  const run = (...words: string[]) => runHere(['platform', 'extension', ...words, '--dir', platform.dir]);
  expect((await run('list')).out).toMatch(/\nmy-kv +ext_\w+ +kv +ready/);
  expect((await run('show', 'my-kv')).out).toContain('variables  KV_KEY KV_URL');
  expect(await run('delete', 'my-kv')).toMatchObject({ code: 1, err: expect.stringContaining('start it') });
  expect(provider.of('DELETE')).toEqual([]);
});

test('variables that were closed with another vault key are closed again, and still reach another app', async () => {
  const { provider, platform, token, create } = await openExtensions();
  await create('my-kv');
  await platform[Symbol.asyncDispose]();
  const newKey = new Secret('cd'.repeat(32));
  const { runHere } = await import('../../support/run-here.ts');
  const env = { REMORA_PLATFORM_KEY: `${newKey.reveal()}\n${TEST_KEY.reveal()}` };
  expect((await runHere(['platform', 'rotate', '--dir', platform.dir], env)).code).toBe(0);
  const next = await openTestPlatform({ dir: platform.dir, keys: [newKey], extensionTimes: QUICK });
  const body = { app: 'web' };
  const moved = await next.call({ method: 'PATCH', path: '/v1/extensions/my-kv', body, token });
  expect([moved.status, moved.json.app]).toEqual([200, 'web']);
  const { secrets } = (await next.call({ path: '/v1/apps/web/secrets', token })).json;
  expect(secrets.map(({ name }: { name: string }) => name)).toEqual(['KV_KEY', 'KV_URL']);
  expect(provider.of('POST').length).toBe(1);
});
