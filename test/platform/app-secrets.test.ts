// The secrets of an app: who may set them, what may be set, and that no answer, log or file has a value.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { APP_SECRETS_MAX, APP_SECRETS_MAX_BYTES, SECRET_VALUE_MAX_BYTES } from '../../src/contract/secret-name.ts';
import { systemClock } from '../../src/core/clock.ts';
import { Secret } from '../../src/core/secret.ts';
import {
  createAppSecretSource,
  createAppSecretStore,
  toAppSecretPlace,
} from '../../src/platform/app-secrets/app-secret-store.ts';
import { createAppSecrets } from '../../src/platform/app-secrets/app-secrets.ts';
import { createAppStore } from '../../src/platform/apps/app-store.ts';
import { createChanges } from '../../src/platform/changes.ts';
import { createOrganizationStore } from '../../src/platform/organizations/organization-store.ts';
import { rotateKeys } from '../../src/platform/vault/key-rotation.ts';
import { createVault } from '../../src/platform/vault/vault.ts';
import { openOnce } from '../support/at-end.ts';
import { openTestPlatform, TEST_KEY } from '../support/open-platform.ts';
import { runRemora } from '../support/run-remora.ts';
import { toTestStorages } from '../support/test-storages.ts';

const CANARY = 'canary-3fb1c7e2-value';

const platform = openOnce(openTestPlatform);
const set = (name: string, value: unknown, app = 'acme', token = platform().token) =>
  platform().call({ method: 'PUT', path: `/v1/apps/${app}/secrets/${name}`, body: { value }, token });
const remove = (name: string, app = 'acme', token = platform().token) =>
  platform().call({ method: 'DELETE', path: `/v1/apps/${app}/secrets/${name}`, token });
const list = (app = 'acme', token = platform().token) => platform().call({ path: `/v1/apps/${app}/secrets`, token });

describe('people', () => {
  test('set, list and delete secrets, and see no value again', async () => {
    const made = await set('DATABASE_URL', CANARY);
    expect([made.status, made.json]).toEqual([
      200,
      {
        name: 'DATABASE_URL',
        digest: expect.stringMatching(/^[0-9a-f]{16}$/),
        owner: { kind: 'operator' },
        set_at: expect.any(String),
      },
    ]);
    expect((await set('DATABASE_URL', CANARY)).json).toEqual(made.json);
    const other = await set('DATABASE_URL', `${CANARY}2`);
    expect(other.json.digest).not.toBe(made.json.digest);
    await set('A_KEY', CANARY);
    const { json } = await list();
    expect(json.secrets.map(({ name }: { name: string }) => name)).toEqual(['A_KEY', 'DATABASE_URL']);
    expect(json.secrets[0].digest).not.toBe(made.json.digest);
    expect((await remove('DATABASE_URL')).status).toBe(204);
    expect((await remove('DATABASE_URL')).json.error).toBe('not_found');
    expect(JSON.stringify([platform().log, made.text, other.text, json])).not.toContain(CANARY);
    for (const name of readdirSync(platform().dir).filter((each) => each.startsWith('platform.db'))) {
      expect(readFileSync(join(platform().dir, name)).includes(CANARY), name).toBe(false);
    }
    await remove('A_KEY');
  });

  test('set only what is safe in the environment of any program, and what fits there', async () => {
    const refused = [
      'PATH',
      'LD_PRELOAD',
      'NODE_OPTIONS',
      'REMORA_TOKEN',
      'BASH_ENV',
      'IFS',
      'https_proxy',
      '1X',
      'A-B',
    ];
    for (const name of [...refused, 'x'.repeat(129)]) {
      const { status, json } = await set(name, 'v');
      expect([name, status, json.error]).toEqual([name, 400, 'invalid_request']);
    }
    for (const value of [
      'a\0b',
      '\ud800',
      'x'.repeat(SECRET_VALUE_MAX_BYTES + 1),
      'ä'.repeat(SECRET_VALUE_MAX_BYTES / 2 + 1),
      7,
    ]) {
      const { status, json } = await set('FINE', value);
      expect([status, json.details.fields[0].field]).toEqual([400, 'body.value']);
    }
    expect((await set('_', '')).status).toBe(200);
    expect((await set('x'.repeat(128), 'line\nline\n')).status).toBe(200);
    await Promise.all([remove('_'), remove('x'.repeat(128))]);
  });

  test('have a limit of bytes and of number', async () => {
    const large = 'x'.repeat(SECRET_VALUE_MAX_BYTES);
    const fit = Math.floor(APP_SECRETS_MAX_BYTES / SECRET_VALUE_MAX_BYTES) - 1;
    for (let at = 0; at < fit; at += 1) expect((await set(`BIG_${at}`, large)).status).toBe(200);
    expect((await set('BIG_LAST', large)).json.error).toBe('limit_reached');
    expect((await set('BIG_0', large)).status).toBe(200);
    for (let at = 0; at < fit; at += 1) await remove(`BIG_${at}`);
    await Promise.all(Array.from({ length: APP_SECRETS_MAX }, (_, at) => set(`N_${at}`, 'v')));
    expect((await set('N_MORE', 'v')).json.error).toBe('limit_reached');
    await Promise.all(Array.from({ length: APP_SECRETS_MAX }, (_, at) => remove(`N_${at}`)));
    expect((await list()).json.secrets).toEqual([]);
  });

  test('reach the secrets of their own apps only, and a reading token changes none', async () => {
    await platform().admin.createOrganization('other');
    const theirs = await platform().admin.createToken({ organization: 'other' });
    const read = await platform().admin.createToken({ organization: 'acme', access: 'read' });
    await set('MINE', 'v');
    for (const answer of [
      await list('acme', theirs),
      await set('X', 'v', 'acme', theirs),
      await remove('MINE', 'acme', theirs),
    ]) {
      expect([answer.status, answer.json.error]).toEqual([404, 'not_found']);
    }
    expect((await list('none')).status).toBe(404);
    expect((await list('acme', read)).json.secrets).toHaveLength(1);
    expect((await set('X', 'v', 'acme', read)).json.error).toBe('read_only');
    expect((await remove('MINE', 'acme', read)).json.error).toBe('read_only');
    await remove('MINE');
  });

  test('lose the secrets of an app with the app, and an organization goes with its secrets', async () => {
    await platform().call({ method: 'POST', path: '/v1/apps', body: { name: 'gone' } });
    await set('KEY', 'v', 'gone');
    expect((await platform().call({ method: 'DELETE', path: '/v1/apps/gone' })).status).toBe(204);
    await platform().call({ method: 'POST', path: '/v1/apps', body: { name: 'gone' } });
    expect((await list('gone')).json.secrets).toEqual([]);
    const { token, ...third } = await openTestPlatform();
    await third.call({ method: 'PUT', path: '/v1/apps/acme/secrets/KEY', body: { value: 'v' }, token });
    expect((await runRemora(['organization', 'delete', 'acme', '--force', '--dir', third.dir])).code).toBe(0);
  });

  test('set them at the command line, with the value from the input', async () => {
    const run = (...words: string[]) =>
      runRemora(['platform', 'secret', ...words, '--organization', 'acme', '--dir', platform().dir], {
        input: `${CANARY}\n`,
      });
    const made = await run('set', 'KEY', '--app', 'acme', '--json');
    expect([made.code, made.stderr]).toEqual([0, '']);
    expect(JSON.parse(made.stdout)).toEqual((await list()).json.secrets[0]);
    expect((await set('KEY', CANARY)).json).toEqual(JSON.parse(made.stdout));
    const listed = await run('list', '--app', 'acme');
    expect(listed.stdout).toMatch(/^NAME .*\nKEY +[0-9a-f]{16} +operator/);
    expect((await run('list')).stdout).toContain(JSON.parse(made.stdout).digest);
    expect(await run('set', 'PATH', '--app', 'acme')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('decides what'),
    });
    expect((await run('delete', 'KEY', '--app', 'acme')).code).toBe(0);
    expect((await list()).json.secrets).toEqual([]);
  });
});

describe.each(toTestStorages())('on $name', ({ skip, start, end, create }) => {
  if (skip) {
    test.skip('the owners of secrets', () => undefined);
    return;
  }

  beforeAll(start);
  afterAll(end);

  async function open() {
    const storage = await (await create())();
    onTestFinished(() => storage[Symbol.asyncDispose]());
    const { id: organization_id } = await createOrganizationStore(storage).create('acme', 1);
    for (const name of ['web', 'jobs']) await createAppStore(storage).insert({ name, organization_id }, 1);
    const vault = createVault([TEST_KEY]);
    const secrets = createAppSecrets({ storage, vault, changes: createChanges(), clock: systemClock });
    const home = (id: string, app = 'web') => ({ organization_id, app, owner: { kind: 'extension', id } }) as const;
    const attach = (place: ReturnType<typeof home>, values: Record<string, string>) =>
      storage.transaction((sql) =>
        secrets.attach(sql, place, new Map(Object.entries(values).map(([name, value]) => [name, new Secret(value)]))),
      );
    const names = async (app = 'web') =>
      (await secrets.list(app)).map(({ name, owner }) => `${name} ${'id' in owner ? owner.id : ''}`);
    return { storage, vault, secrets, home, attach, names, organization_id };
  }

  test('each owner has its own names, and takes away only those', async () => {
    const { storage, secrets, home, attach, names, organization_id } = await open();
    await attach(home('a'), { A_URL: '1', A_KEY: '2' });
    const before = await secrets.list('web');
    await attach(home('b'), { B_URL: '1' });
    await attach(home('a', 'jobs'), { A_URL: '1' });
    await expect(attach(home('b'), { B_KEY: '1', A_KEY: '3' })).rejects.toMatchObject({
      code: 'secret_conflict',
      message: expect.stringMatching(/A_KEY.*extension a.*extension b/),
      details: { name: 'A_KEY', owner: { kind: 'extension', id: 'a' }, by: { kind: 'extension', id: 'b' } },
    });
    expect(await names()).toEqual(['A_KEY a', 'A_URL a', 'B_URL b']);
    const operator = { organization_id, app: 'web', owner: { kind: 'operator' } } as const;
    for (const work of [
      () => secrets.set(storage, operator, 'A_KEY', new Secret('x')),
      () => secrets.remove(storage, operator, 'A_KEY'),
    ]) {
      await expect(work()).rejects.toMatchObject({ code: 'secret_conflict' });
    }
    await attach(home('a'), { A_KEY: '2', A_NEW: '3' });
    expect(await names()).toEqual(['A_KEY a', 'A_NEW a', 'B_URL b']);
    expect((await secrets.list('web'))[0]).toEqual(before[0]);
    await storage.transaction((sql) => secrets.detach(sql, { kind: 'extension', id: 'a' }));
    expect([await names(), await names('jobs')]).toEqual([['B_URL b'], []]);
  });

  test('a rotation of vault keys closes them with the new key, and a row that was moved does not open', async () => {
    const { storage, home, attach } = await open();
    await attach(home('a'), { A_KEY: CANARY });
    const both = createVault([new Secret('cd'.repeat(32)), TEST_KEY]);
    const source = createAppSecretSource(storage);
    expect(await source.listKeyIds()).toEqual([both.keyIds[1]]);
    expect(await rotateKeys([source], both)).toEqual({ rotated: 1, unreadable: [] });
    expect(await source.listKeyIds()).toEqual([both.currentKeyId]);
    const [row] = await createAppSecretStore(storage).list('web');
    if (row === undefined) throw new Error('the secret is gone');
    const alone = createVault([new Secret('cd'.repeat(32))]);
    expect(alone.open(toAppSecretPlace(row), row.closed).reveal()).toBe(CANARY);
    expect(() => alone.open(toAppSecretPlace({ ...row, app: 'jobs' }), row.closed)).toThrow('changed outside');
  });
});
