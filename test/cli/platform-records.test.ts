// What an operator does with `remora platform` beside a platform that runs.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, it } from 'vitest';
import { openTestPlatform, TEST_KEY } from '../support/open-platform.ts';
import { runHere } from '../support/run-here.ts';

async function openWithCommand() {
  const platform = await openTestPlatform();
  const keyFile = join(platform.dir, 'key');
  writeFileSync(keyFile, TEST_KEY.reveal(), { mode: 0o600 });
  const run = async (...words: string[]) => {
    const { code, out, err } = await runHere(['platform', ...words, '--dir', platform.dir, '--key-file', keyFile]);
    return { code, out, stderr: err };
  };
  return { platform, keyFile, run };
}

it('makes an organization with limits, a sprite, a token that works at once, and revokes it', async () => {
  const { platform, run } = await openWithCommand();
  expect(await run('organization', 'create', 'globex', '--running-limit', '3', '--creation-limit', '7')).toMatchObject({
    code: 0,
    out: 'globex',
  });
  expect((await run('organization', 'list')).out).toMatch(
    /^NAME +RUNNING LIMIT +WARM LIMIT +CREATION LIMIT\nacme +- +- +-\nglobex +3 +- +7$/,
  );
  expect((await run('sprite', 'create', 'globex', 'web', '--labels', 'a,b')).code).toBe(0);
  expect((await run('sprite', 'list', 'globex')).out).toMatch(/\nweb +cold +a,b +spr_/);
  const { out } = await run('token', 'create', 'globex', '--name', 'ci', '--expires', '90d');
  const headers = { authorization: `Bearer ${out}` };
  const list = await fetch(`${platform.url}/v1/sprites`, { headers });
  expect(await list.json()).toMatchObject({
    name: 'globex',
    running_limit: 3,
    sprites: [{ name: 'web', labels: ['a', 'b'] }],
  });
  const tokens = (await run('token', 'list', 'globex')).out;
  expect(tokens).toMatch(/tok_\w+ +ci +organization +full/);
  expect(tokens).not.toContain(out);
  const id = /tok_\w+/.exec(tokens)?.[0] ?? '';
  expect((await run('token', 'revoke', 'globex', id)).code).toBe(0);
  expect((await fetch(`${platform.url}/v1/sprites`, { headers })).status).toBe(401);
  expect((await run('token', 'revoke', 'globex', id)).code).toBe(1);
});

it('changes the URL settings and the labels of a sprite, and keeps what it does not name', async () => {
  const { platform, run } = await openWithCommand();
  const create = ['sprite', 'create', 'acme', 'web', '--labels', 'a,b', '--private-access', 'admins'];
  expect((await run(...create)).code).toBe(0);
  const settings = async () => (await platform.call({ path: '/v1/sprites/web' })).json;
  expect(await settings()).toMatchObject({ url_settings: { auth: 'sprite', private_access: 'admins' } });
  expect((await run('sprite', 'update', 'acme', 'web', '--auth', 'public')).code).toBe(0);
  expect(await settings()).toMatchObject({ url_settings: { auth: 'public' }, labels: ['a', 'b'] });
  expect(await run('sprite', 'update', 'acme', 'web', '--labels', 'c')).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^web +c +\{"auth":"public"\}$/),
  });
  for (const [flag, value] of [
    ['--auth', 'nobody'],
    ['--private-access', 'admins'],
  ] as const) {
    expect(await run('sprite', 'update', 'acme', 'web', flag, value)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(flag),
    });
  }
});

it('makes a connector from a key in a file, copies the database, and rotates keys', async () => {
  const { platform, run } = await openWithCommand();
  const apiKey = join(platform.dir, 'api-key');
  writeFileSync(apiKey, 'sk-of-a-file\n', { mode: 0o600 });
  const policy = '{"allow_all":true}';
  const made = await run('connector', 'create', 'acme', 'openai', '--api-key-file', apiKey, '--policy', policy);
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^conn_\w+ +openai/) });
  expect((await run('connector', 'list', 'acme')).out).toContain(policy);
  const copy = join(platform.dir, 'copy.db');
  expect((await run('backup', copy)).code).toBe(0);
  expect(existsSync(copy)).toBe(true);
  expect(await run('rotate')).toMatchObject({ code: 0, out: '0 credentials are closed with the first key now' });
});

it('lists what was called through the gateway, by day', async () => {
  const { platform, run } = await openWithCommand();
  const db = new Database(join(platform.dir, 'platform.db'));
  db.exec(`INSERT INTO gateway_usage SELECT id, '2026-01-31', 'conn_1', 'dev-1', 'openai', 3, 1, 0, 2048, 10, 20
           FROM organizations`);
  db.close();
  expect((await run('usage', 'list', 'acme', '--since', '2026-01-01', '--until', '2026-01-31')).out).toMatch(
    /^DAY .*TOKENS OUT\n2026-01-31 +conn_1 +openai +3 +1 +0 +2048 +10 +20$/,
  );
  expect((await run('usage', 'list', 'acme', '--since', 'january')).code).toBe(2);
});

it('says what is wrong with the words', async () => {
  const { run } = await openWithCommand();
  for (const words of [
    ['nonsense'],
    ['token'],
    ['token', 'create'],
    ['backup'],
    ['token', 'create', 'acme', '--expires', 'soon'],
  ]) {
    expect((await run(...words)).code, words.join(' ')).toBe(2);
  }
  expect(await run('token', 'create', 'nobody')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('no organization nobody'),
  });
});

it('makes a sprite whose machine is run elsewhere, and settles which of two machines is served', async () => {
  const { platform, run } = await openWithCommand();
  expect((await run('sprite', 'create', 'acme', 'vm', '--external')).code).toBe(0);
  const { json: sprite } = await platform.call({ path: '/v1/sprites/vm' });
  const path = `/v1/apps/acme/machines/${sprite.machine_id}`;
  expect((await platform.call({ path })).json).toMatchObject({ config: { external: true } });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'vm' });
  const report = async (incarnation: string) => {
    const body = { generation: 3, incarnation, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [] };
    return (await platform.call({ method: 'POST', path: `${path}/resumed`, token, body })).json;
  };
  await report('a1'.repeat(16));
  expect((await report('b2'.repeat(16))).message).toContain('`remora machine adopt MACHINE`');
  expect(await run('machine', 'adopt', 'acme', sprite.machine_id)).toMatchObject({ code: 0 });
  expect(await report('b2'.repeat(16))).toMatchObject({ generation: 4 });
  expect(await run('machine', 'adopt', 'acme', 'none')).toMatchObject({ code: 1 });
});

it('reads the log of a machine', async () => {
  const { platform } = await openWithCommand();
  await platform.admin.createSprite({ organization: 'acme', name: 'web' });
  const { dir, id } = await platform.admin.readMachine({ organization: 'acme', sprite: 'web' });
  mkdirSync(dir, { recursive: true });
  writeFileSync(join(dir, 'agent.log'), 'one\ntwo\nthree\n');
  const logs = (...words: string[]) => runHere(['platform', 'logs', ...words, '--dir', platform.dir]);
  expect(await logs('web')).toMatchObject({ code: 0, out: 'one\ntwo\nthree' });
  expect(await logs(id, '--tail', '1', '--json')).toMatchObject({ code: 0, out: '{"line":"three"}' });
  expect(await logs('none')).toMatchObject({ code: 1, out: '', err: expect.stringContaining('no machine none') });
  expect((await runHere(['platform', 'logs'])).code).toBe(2);
});
