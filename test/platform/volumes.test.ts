// Volumes over the machines API: made, mounted, kept through every end of a machine, enlarged and deleted.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { machineCommand, openTestPlatform, type TestPlatformOptions } from '../support/open-platform.ts';
import { tempDir } from '../support/temp-dir.ts';

const app = '/v1/apps/acme';

async function open(options: TestPlatformOptions = {}) {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), ...options });
  const ask = (method: string, path: string, body?: unknown) => platform.call({ method, path: `${app}${path}`, body });
  const wait = (id: string, state: string) => ask('GET', `/machines/${id}/wait?state=${state}`);
  return { platform, ask, wait, filesOf: (id: string) => join(platform.dir, 'volumes', id) };
}

test('a volume is made, listed, renamed, enlarged and deleted with its files', async () => {
  const { ask, filesOf } = await open();
  const made = (await ask('POST', '/volumes', { name: 'data', region: 'local', size_gb: 2 })).json;
  expect(made).toMatchObject({ name: 'data', state: 'created', size_gb: 2, attached_machine_id: null });
  expect(existsSync(filesOf(made.id))).toBe(true);
  expect((await ask('PUT', `/volumes/${made.id}`, { name: 'other' })).json.name).toBe('other');
  expect((await ask('PUT', `/volumes/${made.id}/extend`, { size_gb: 1 })).status).toBe(409);
  expect((await ask('PUT', `/volumes/${made.id}/extend`, { size_gb: 5 })).json).toMatchObject({
    needs_restart: false,
    volume: { size_gb: 5, state: 'created' },
  });
  expect((await ask('GET', '/volumes')).json).toMatchObject([{ id: made.id, name: 'other', size_gb: 5 }]);
  expect((await ask('GET', `/volumes/${made.id}/snapshots`)).json).toEqual([]);
  expect((await ask('DELETE', `/volumes/${made.id}`)).json).toMatchObject({ id: made.id, state: 'destroying' });
  expect((await ask('GET', `/volumes/${made.id}`)).status).toBe(404);
  expect(existsSync(filesOf(made.id))).toBe(false);
});

test('what a machine writes into its volume is kept through suspend, stop, update and deletion of the machine', async () => {
  const { ask, wait, filesOf, platform } = await open();
  const { id: volume } = (await ask('POST', '/volumes', { name: 'data' })).json;
  const config = { mounts: [{ volume, path: '/var/data' }] };
  const { id } = (await ask('POST', '/machines', { config })).json;
  await wait(id, 'started');
  const inside = join(platform.dir, 'machines', id, 'home', 'var', 'data', 'kept');
  writeFileSync(inside, 'x');
  expect((await ask('GET', `/volumes/${volume}`)).json).toMatchObject({ attached_machine_id: id });
  expect(await ask('DELETE', `/volumes/${volume}`)).toMatchObject({ status: 409, json: { error: 'conflict' } });
  const rival = await ask('POST', '/machines', { config });
  expect(rival).toMatchObject({ status: 409, json: { error: 'conflict' } });
  await ask('POST', `/machines/${id}/suspend`);
  await wait(id, 'suspended');
  await ask('POST', `/machines/${id}/start`);
  await ask('POST', `/machines/${id}/stop`);
  await wait(id, 'stopped');
  await ask('POST', `/machines/${id}/start`);
  expect(readFileSync(inside, 'utf8')).toBe('x');
  expect((await ask('POST', `/machines/${id}`, { config: { ...config, env: { A: '1' } } })).status).toBe(200);
  await wait(id, 'started');
  expect(readFileSync(inside, 'utf8')).toBe('x');
  expect((await ask('POST', `/machines/${id}`, { config: {} })).status).toBe(200);
  expect((await ask('GET', `/volumes/${volume}`)).json.attached_machine_id).toBeNull();
  expect((await ask('POST', `/machines/${id}`, { config })).status).toBe(200);
  await ask('DELETE', `/machines/${id}?force=true`);
  expect((await ask('GET', `/volumes/${volume}`)).json.attached_machine_id).toBeNull();
  expect(readFileSync(join(filesOf(volume), 'kept'), 'utf8')).toBe('x');
});

test('mounts that cannot be are refused by their fields', async () => {
  const { ask } = await open();
  const { id: volume } = (await ask('POST', '/volumes', { name: 'data' })).json;
  const { id: other } = (await ask('POST', '/volumes', { name: 'more' })).json;
  const refusals = [
    [{ volume: 'vol_none', path: '/data' }],
    [
      { volume, path: '/data' },
      { volume, path: '/more' },
    ],
    [
      { volume, path: '/data' },
      { volume: other, path: '/data/more' },
    ],
  ];
  for (const mounts of refusals) {
    const answer = await ask('POST', '/machines', { config: { mounts } });
    expect([answer.status, answer.json.details.fields[0].field]).toEqual([400, expect.stringMatching(/mounts\.\d\./)]);
  }
});

test('moves that a platform had begun are finished by the next one', async () => {
  const dir = tempDir();
  const first = await open({ dir });
  const made = (await first.ask('POST', '/volumes', { name: 'data' })).json;
  const doomed = (await first.ask('POST', '/volumes', { name: 'doomed' })).json;
  await first.platform[Symbol.asyncDispose]();
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(join(dir, 'platform.db'));
  db.prepare("UPDATE volumes SET state = 'extending', size_gb = 9 WHERE id = ?").run(made.id);
  db.prepare("UPDATE volumes SET state = 'destroying' WHERE id = ?").run(doomed.id);
  db.close();
  const next = await open({ dir });
  await expect
    .poll(async () => (await next.ask('GET', '/volumes')).json)
    .toMatchObject([{ id: made.id, state: 'created', size_gb: 9 }]);
  await expect.poll(() => existsSync(next.filesOf(doomed.id))).toBe(false);
});

test('an app or an organization with a volume is not deleted in passing', async () => {
  const { ask, platform, filesOf } = await open();
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'shop' } });
  const { id } = (await platform.call({ method: 'POST', path: '/v1/apps/shop/volumes', body: { name: 'data' } })).json;
  expect((await platform.call({ method: 'DELETE', path: '/v1/apps/shop' })).status).toBe(409);
  expect((await ask('GET', `/volumes/${id}`)).status).toBe(404);
  expect(existsSync(filesOf(id))).toBe(true);
});
