// Sprites after their creation: changed, deleted, and limited in how many run or are warm.
import { existsSync } from 'node:fs';
import { parseAPIError } from '@fly/sprites';
import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { isGone } from '../support/left-machines.ts';
import { machineCommand, openTestPlatform, readReport } from '../support/open-platform.ts';

const path = '/v1/sprites/dev-1';

async function openWithSprites(...names: string[]) {
  const platform = await openTestPlatform({ agentCommand: machineCommand() });
  for (const name of names) await platform.admin.createSprite({ organization: 'acme', name });
  const machine = (name: string) => platform.admin.readMachine({ organization: 'acme', sprite: name });
  const move = async (name: string, action: string) =>
    await platform.call({ method: 'POST', path: `/v1/apps/acme/machines/${(await machine(name)).id}/${action}` });
  const reach = async (name: string, state: string) => {
    const answer = await platform.call({
      path: `/v1/apps/acme/machines/${(await machine(name)).id}/wait?state=${state}&timeout=30`,
    });
    expect(answer.json).toEqual({ ok: true });
  };
  const sprite = async (name: string) => (await platform.call({ path: `/v1/sprites/${name}` })).json;
  return { platform, machine, move, reach, sprite };
}

describe('an update', () => {
  test('replaces the URL settings and the labels, and keeps the labels that it does not name', async () => {
    const { platform } = await openWithSprites('dev-1');
    const before = (await platform.call({ path })).json;
    const put = (body: unknown) => platform.call({ method: 'PUT', path, body });
    const first = await put({ url_settings: { auth: 'public' }, labels: ['a', 'b'] });
    expect(first.status).toBe(200);
    expect(first.json).toMatchObject({ id: before.id, url_settings: { auth: 'public' }, labels: ['a', 'b'] });
    expect(Date.parse(first.json.updated_at)).toBeGreaterThanOrEqual(Date.parse(before.updated_at));
    expect((await put({ url_settings: {} })).json).toMatchObject({
      url_settings: { auth: 'sprite' },
      labels: ['a', 'b'],
    });
    const last = await put({ url_settings: {}, labels: [] });
    expect(last.json).not.toHaveProperty('labels');
    expect((await platform.call({ path })).json).toEqual(last.json);
  });

  test('keeps who may reach a closed URL', async () => {
    const { platform } = await openWithSprites();
    const url_settings = { auth: 'sprite', private_access: 'admins' } as const;
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1', url_settings });
    const put = (auth: string) => platform.call({ method: 'PUT', path, body: { url_settings: { auth } } });
    expect((await put('sprite')).json.url_settings).toEqual(url_settings);
    expect((await put('public')).json.url_settings).toEqual({ auth: 'public' });
  });

  test('says who may reach a closed URL, also at the creation, and refuses to say it of a public one', async () => {
    const { platform } = await openWithSprites();
    const url_settings = { auth: 'sprite', private_access: 'organization' };
    const made = await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1', url_settings } });
    expect([made.status, made.json.url_settings]).toEqual([201, url_settings]);
    const put = (body: unknown) => platform.call({ method: 'PUT', path, body });
    const asClients = await put({ url_settings: { private_access: 'org_users' } });
    expect(asClients.json.url_settings).toEqual({ auth: 'sprite', private_access: 'organization' });
    const changed = await put({ url_settings: { private_access: 'admins' } });
    expect(changed.json.url_settings).toEqual({ auth: 'sprite', private_access: 'admins' });
    const wrong = await put({ url_settings: { auth: 'public', private_access: 'admins' } });
    expect([wrong.status, wrong.json.details.fields[0].field]).toEqual([400, 'body.url_settings.private_access']);
    expect((await platform.call({ path })).json).toEqual(changed.json);
  });

  const malformed = [
    [{}, 'body.url_settings'],
    [{ url_settings: { auth: 'nobody' } }, 'body.url_settings.auth'],
    [{ url_settings: {}, labels: 'a' }, 'body.labels'],
    [{ url_settings: {}, labels: [''] }, 'body.labels.0'],
  ] as const;
  test.each(malformed)('of %j is refused, naming %s', async (body, field) => {
    const { platform } = await openWithSprites('dev-1');
    const answer = await platform.call({ method: 'PUT', path, body });
    expect([answer.status, answer.json.details.fields[0].field]).toEqual([400, field]);
  });

  test('of a sprite that is not there is 404', async () => {
    const { platform } = await openWithSprites();
    expect((await platform.call({ method: 'PUT', path, body: { url_settings: {} } })).status).toBe(404);
  });
});

describe('a deletion', () => {
  test('ends the machine with its files and its tokens, and frees the name', async () => {
    const { platform, machine, move } = await openWithSprites('dev-1');
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
    await move('dev-1', 'start');
    const { dir } = await machine('dev-1');
    const { pid } = await eventually(() => readReport(dir));
    const answer = await platform.call({ method: 'DELETE', path });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(isGone(pid)).toBe(true);
    expect(existsSync(dir)).toBe(false);
    expect((await platform.call({ path })).status).toBe(404);
    expect((await platform.call({ method: 'DELETE', path })).status).toBe(404);
    expect((await platform.call({ path, token })).status).toBe(401);
    expect((await platform.call({ path: '/v1/sprites' })).json.sprites).toEqual([]);
    const again = await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
    expect(again.status).toBe(201);
  });

  test('asked for by ten at once happens once', async () => {
    const { platform } = await openWithSprites('dev-1');
    const calls = Array.from({ length: 10 }, () => platform.call({ method: 'DELETE', path }));
    const statuses = (await Promise.all(calls)).map(({ status }) => status).sort();
    expect(statuses).toEqual([204, ...Array.from({ length: 9 }, () => 404)]);
  });
});

describe('the status', () => {
  test('follows the machine, with the times of the last change', async () => {
    const { platform, move, reach, sprite } = await openWithSprites('dev-1');
    expect(await sprite('dev-1')).toMatchObject({ status: 'cold', last_running_at: null, last_warming_at: null });
    await move('dev-1', 'start');
    const running = await sprite('dev-1');
    expect(running).toMatchObject({ status: 'running', last_warming_at: null });
    expect(Date.now() - Date.parse(running.last_running_at)).toBeLessThan(60_000);
    await move('dev-1', 'suspend');
    await reach('dev-1', 'suspended');
    expect(await sprite('dev-1')).toMatchObject({ status: 'warm', last_warming_at: expect.any(String) });
    expect((await platform.call({ path: '/v1/sprites' })).json).toMatchObject({ running: 0, warm: 1, cold: 0 });
    await move('dev-1', 'stop');
    await reach('dev-1', 'stopped');
    expect(await sprite('dev-1')).toMatchObject({ status: 'cold', last_warming_at: expect.any(String) });
  });
});

describe('the limits', () => {
  test('are reported in the list, and a machine beyond them does not start or become warm', async () => {
    const { platform, move, reach, sprite } = await openWithSprites('dev-1', 'dev-2', 'dev-3');
    await platform.admin.setLimits('acme', { running_limit: 2, warm_limit: 1 });
    expect((await platform.call({ path: '/v1/sprites' })).json).toMatchObject({ running_limit: 2, warm_limit: 1 });
    const both = await Promise.all(['dev-1', 'dev-2', 'dev-3'].map((name) => move(name, 'start')));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    const refused = both.find(({ status }) => status === 429);
    expect(refused?.json).toMatchObject({
      error: 'concurrent_sprite_limit_exceeded',
      limit: 2,
      current_count: 2,
      retry_after_seconds: 30,
      details: { running_limit: 2, running: 2 },
    });
    const error = parseAPIError(429, refused?.text, Object.fromEntries(refused?.headers ?? []));
    expect(error?.isConcurrentLimitExceeded()).toBe(true);
    expect(error).toMatchObject({ limit: 2, currentCount: 2, retryAfterSeconds: 30, retryAfterHeader: 30 });
    const running = ['dev-1', 'dev-2', 'dev-3'].filter((_, index) => both[index]?.status === 200);
    const [first = '', second = ''] = running;
    expect((await move(first, 'start')).status).toBe(200);
    expect((await move(first, 'suspend')).status).toBe(200);
    await reach(first, 'suspended');
    const warm = await move(second, 'suspend');
    expect([warm.status, warm.json]).toEqual([
      429,
      expect.objectContaining({
        error: 'concurrent_sprite_limit_exceeded',
        limit: 1,
        current_count: 1,
        details: { warm_limit: 1, warm: 1 },
      }),
    ]);
    expect(await sprite(second)).toMatchObject({ status: 'running' });
  });

  test('let a machine that runs be restarted, and leave one without a free place as it was', async () => {
    const { platform, machine, move, reach, sprite } = await openWithSprites('dev-1', 'dev-2');
    const restart = (name: string) => platform.call({ method: 'POST', path: `/v1/sprites/${name}/restart` });
    const report = async (name: string) => readReport((await machine(name)).dir);
    await platform.admin.setLimits('acme', { running_limit: 1 });
    expect((await move('dev-1', 'start')).status).toBe(200);
    const before = (await report('dev-1'))?.pid;
    // A lower limit, so that no place would be free for it once it has given up its own.
    await platform.admin.setLimits('acme', { running_limit: 0 });
    expect((await restart('dev-1')).status).toBe(200);
    await platform.admin.setLimits('acme', { running_limit: 1 });
    expect((await report('dev-1'))?.pid).not.toBe(before);

    await move('dev-1', 'suspend');
    await reach('dev-1', 'suspended');
    expect((await move('dev-2', 'start')).status).toBe(200);
    const refused = await restart('dev-1');
    expect([refused.status, refused.json.error]).toEqual([429, 'concurrent_sprite_limit_exceeded']);
    expect(await sprite('dev-1')).toMatchObject({ status: 'warm' });
    await move('dev-2', 'stop');
    await reach('dev-2', 'stopped');
    const kept = (await report('dev-1'))?.pid;
    expect((await restart('dev-1')).status).toBe(200);
    expect((await report('dev-1'))?.pid).not.toBe(kept);
    expect((await move('dev-2', 'start')).status).toBe(429);
    await move('dev-1', 'stop');
    await reach('dev-1', 'stopped');
    expect((await move('dev-2', 'start')).status).toBe(200);
  });
});
