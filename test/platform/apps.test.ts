// Apps: made, listed and deleted by their organization, and the machines in them.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { OPERATOR_SOCKET } from '../../src/contract/organizations.ts';
import { sqliteMigrations } from '../../src/platform/storage/sqlite-schema.ts';
import { ask } from '../support/ask.ts';
import { eventually } from '../support/eventually.ts';
import { machineCommand } from '../support/machine-command.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { openTestPlatform, readReport } from '../support/open-platform.ts';

async function openTwo() {
  const platform = await openTestPlatform();
  await platform.admin.createOrganization('other');
  const other = await platform.admin.createToken({ organization: 'other' });
  const post = (body: unknown, token = platform.token) =>
    platform.call({ method: 'POST', path: '/v1/apps', body, token });
  const remove = (name: string, token = platform.token) =>
    platform.call({ method: 'DELETE', path: `/v1/apps/${name}`, token });
  const names = async (token = platform.token) =>
    (await platform.call({ path: '/v1/apps', token })).json.apps.map(({ name }: { name: string }) => name);
  const createSprite = (name: string, app?: string, token = platform.token) =>
    platform.call({ method: 'POST', path: '/v1/sprites', body: { name, app }, token });
  return { platform, other, post, remove, names, createSprite };
}

test('an app is made once on a platform, and only its organization sees it', async () => {
  const { platform, other, post, remove, names } = await openTwo();
  const made = await post({ name: 'web', organization: 'acme' });
  expect([made.status, made.json]).toEqual([
    201,
    { name: 'web', organization: 'acme', machines: 0, created_at: expect.any(String) },
  ]);
  expect(await names()).toEqual(['acme', 'web']);
  expect(await names(other)).toEqual(['other']);
  for (const token of [platform.token, other]) {
    expect((await post({ name: 'web' }, token)).json.error).toBe('already_exists');
  }
  const others = await platform.call({ path: '/v1/apps/web', token: other });
  const none = await platform.call({ path: '/v1/apps/none', token: other });
  expect([others.status, others.json]).toEqual([404, none.json]);
  expect((await remove('web', other)).status).toBe(404);
  expect((await post({ name: 'mine', organization: 'other' })).json.error).toBe('forbidden');
  expect((await remove('web')).status).toBe(204);
  expect((await post({ name: 'web' }, other)).status).toBe(201);
});

test.each([['Web'], ['-web'], ['web-'], ['w.eb'], [''], ['w'.repeat(64)], [7]])(
  '%j is no name of an app',
  async (name) => {
    const { post } = await openTwo();
    const { status, json } = await post({ name });
    expect([status, json.error, json.details.fields[0].field]).toEqual([400, 'invalid_request', 'body.name']);
  },
);

test('a reading token reads apps, and the token of a sprite does not', async () => {
  const { platform, post, remove, createSprite } = await openTwo();
  await createSprite('dev-1');
  const read = await platform.admin.createToken({ organization: 'acme', access: 'read' });
  const sprite = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  expect((await platform.call({ path: '/v1/apps', token: read })).status).toBe(200);
  expect((await platform.call({ path: '/v1/apps/acme', token: read })).json.machines).toBe(1);
  expect((await post({ name: 'web' }, read)).json.error).toBe('read_only');
  expect((await remove('acme', read)).json.error).toBe('read_only');
  expect((await platform.call({ path: '/v1/apps', token: sprite })).json.error).toBe('forbidden');
});

test('a sprite goes into the app that it names, and is reached there and nowhere else', async () => {
  const { platform, other, post, remove, createSprite } = await openTwo();
  await post({ name: 'web' });
  await post({ name: 'theirs' }, other);
  const made = (await createSprite('dev-1', 'web')).json;
  expect(made.app).toBe('web');
  expect((await createSprite('dev-2')).json.app).toBe('acme');
  expect((await createSprite('dev-3', 'none')).json.error).toBe('not_found');
  expect((await createSprite('dev-3', 'theirs')).json.error).toBe('not_found');
  expect((await createSprite('dev-3', 'No')).json.error).toBe('invalid_request');
  expect((await createSprite('dev-3')).status).toBe(201);
  const at = (app: string, token = platform.token) =>
    platform.call({ path: `/v1/apps/${app}/machines/${made.machine_id}`, token });
  expect((await at('web')).json.sprite).toBe('dev-1');
  expect((await at('acme')).status).toBe(404);
  expect((await at('web', other)).status).toBe(404);
  const list = async (app: string, token = platform.token) => {
    const { status, json } = await platform.call({ path: `/v1/apps/${app}/machines`, token });
    return status === 200 ? json.map(({ sprite }: { sprite: string }) => sprite).sort() : json.error;
  };
  expect(await list('web')).toEqual(['dev-1']);
  expect(await list('acme')).toEqual(['dev-2', 'dev-3']);
  expect(await list('theirs')).toBe('not_found');
  expect(await list('theirs', other)).toEqual([]);

  const refused = await remove('web');
  expect([refused.status, refused.json]).toMatchObject([409, { error: 'conflict', details: { machines: 1 } }]);
  await platform.call({ method: 'DELETE', path: '/v1/sprites/dev-1' });
  expect((await remove('web')).status).toBe(204);
  expect(await list('web')).toBe('not_found');
});

test('an app never loses a sprite that is made while it is deleted', async () => {
  const { post, remove, createSprite, platform } = await openTwo();
  for (let turn = 0; turn < 5; turn += 1) {
    await post({ name: 'web' });
    const [removed, made] = await Promise.all([remove('web'), createSprite(`dev-${turn}`, 'web')]);
    expect([removed.status, made.status]).toEqual(removed.status === 204 ? [204, 404] : [409, 201]);
    await platform.call({ method: 'DELETE', path: `/v1/sprites/dev-${turn}` });
  }
});

test('the organization has an app of its name from its first moment to its last', async () => {
  const { platform, post, remove, names } = await openTwo();
  expect(await names()).toEqual(['acme']);
  expect((await remove('acme')).json.error).toBe('conflict');
  await post({ name: 'third' });
  const socketPath = join(platform.dir, OPERATOR_SOCKET);
  const asked = { method: 'POST', target: '/v1/organizations', body: JSON.stringify({ name: 'third' }) };
  const headers = { 'content-type': 'application/json' };
  expect(JSON.parse((await ask(socketPath, { ...asked, headers })).text).error).toBe('already_exists');
  expect((await platform.admin.listOrganizations()).map(({ slug }) => slug)).toEqual(['acme', 'other']);
  await remove('third');
  expect((await ask(socketPath, { ...asked, headers })).status).toBe(201);
  const third = await platform.admin.createToken({ organization: 'third' });
  expect(await names(third)).toEqual(['third']);
});

test('an organization that is made at the start is made all the same, and its sprites name another app', async () => {
  const { platform, post, createSprite } = await openTwo();
  await post({ name: 'third' });
  await platform.admin.createOrganization('third');
  const token = await platform.admin.createToken({ organization: 'third' });
  const refused = (await createSprite('dev-1', undefined, token)).json;
  expect([refused.error, refused.message]).toEqual(['not_found', expect.stringContaining('another organization')]);
  await post({ name: 'third-2' }, token);
  expect((await createSprite('dev-1', 'third-2', token)).status).toBe(201);
});

test('the environment of a machine names its app', async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand() });
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'web' } });
  await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1', app: 'web' } });
  const name = { organization: 'acme', sprite: 'dev-1' };
  await platform.admin.startMachine(name);
  const { app, dir } = await platform.admin.readMachine(name);
  expect(app).toBe('web');
  await eventually(() => readReport(dir)?.env.FLY_APP_NAME === 'web');
});

test('at the upgrade each organization gets an app of its name, with the machines that it has', async () => {
  const dir = memoryDir();
  const before = sqliteMigrations.findIndex((text) => text.includes('CREATE TABLE apps'));
  const db = new Database(join(dir, 'platform.db'));
  for (const text of sqliteMigrations.slice(0, before)) db.exec(text);
  db.pragma(`user_version = ${before}`);
  db.exec(`INSERT INTO organizations (id, slug, created_at) VALUES ('org_1', 'acme', 1), ('org_2', 'other', 2);
    INSERT INTO sprites (id, organization_id, name, labels, url_settings, created_at, updated_at)
    VALUES ('spr_1', 'org_1', 'dev-1', '[]', '{"auth":"sprite"}', 1, 1);
    INSERT INTO machines (id, app, organization_id, sprite_id, name, region, private_ip, config, state, instance_id, created_at, updated_at)
    VALUES ('m1', 'acme', 'org_1', 'spr_1', 'dev-1', 'local', 'fdaa::1', '{}', 'stopped', '', 1, 1)`);
  db.close();
  const platform = await openTestPlatform({ dir });
  const { json } = await platform.call({ path: '/v1/apps' });
  expect(json.apps).toEqual([
    { name: 'acme', organization: 'acme', machines: 1, created_at: new Date(1).toISOString() },
  ]);
  expect((await platform.call({ path: '/v1/apps/acme/machines' })).json).toMatchObject([{ id: 'm1', sprite: 'dev-1' }]);
});
