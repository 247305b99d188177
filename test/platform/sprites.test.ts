// Sprites: creating, reading, and lists in pages.
import { describe, expect, test } from 'vitest';
import { openTestPlatform } from '../support/open-platform.ts';

describe('creating a sprite', () => {
  test('answers 201 with the whole record; labels are left out when there are none', async () => {
    const platform = await openTestPlatform();
    const answer = await platform.call({
      method: 'POST',
      path: '/v1/sprites',
      body: { name: 'web-1', url_settings: { auth: 'public' } },
    });
    expect(answer.status).toBe(201);
    expect(answer.json).toEqual({
      id: expect.stringMatching(/^spr_/),
      name: 'web-1',
      organization: 'acme',
      url: 'http://web-1.acme.localhost',
      status: 'cold',
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: answer.json.created_at,
      environment_version: null,
      last_running_at: null,
      last_warming_at: null,
      url_settings: { auth: 'public' },
      version: null,
      machine_id: expect.stringMatching(/^[0-9a-f]{14}$/),
      app: 'acme',
    });
    expect((await platform.call({ path: '/v1/sprites/web-1' })).json).toEqual(answer.json);
  });

  test('shows labels that there are', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createSprite({ organization: 'acme', name: 'web-1', labels: ['a', 'b'] });
    expect((await platform.call({ path: '/v1/sprites/web-1' })).json.labels).toEqual(['a', 'b']);
  });

  test('of a taken name is 409, naming the field; another organization may take it', async () => {
    const platform = await openTestPlatform();
    const create = (token = platform.token) =>
      platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'web' }, token });
    expect((await create()).status).toBe(201);
    const again = await create();
    expect(again.status).toBe(409);
    expect(again.json).toMatchObject({ error: 'already_exists', details: { fields: [{ field: 'body.name' }] } });
    await platform.admin.createOrganization('other');
    expect((await create(await platform.admin.createToken({ organization: 'other' }))).status).toBe(201);
  });

  const names = ['', '-a', 'a-', 'A', 'a_b', 'a.b', 'ä', 'a'.repeat(64), 'a b', 7, null, undefined];
  test.each(names)('refuses the name %s, naming the field', async (name) => {
    const platform = await openTestPlatform();
    const answer = await platform.call({ method: 'POST', path: '/v1/sprites', body: { name } });
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ error: 'invalid_request', details: { fields: [{ field: 'body.name' }] } });
  });

  test.each(['a', 'a-b', '0', 'a'.repeat(63)])('takes the name %s', async (name) => {
    const platform = await openTestPlatform();
    expect((await platform.call({ method: 'POST', path: '/v1/sprites', body: { name } })).status).toBe(201);
  });

  test('without a body says so', async () => {
    const platform = await openTestPlatform();
    expect((await platform.call({ method: 'POST', path: '/v1/sprites' })).status).toBe(400);
  });

  test('by twenty callers at once with one name gives one sprite', async () => {
    const platform = await openTestPlatform();
    const calls = Array.from({ length: 20 }, () =>
      platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'one' } }),
    );
    const statuses = (await Promise.all(calls)).map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  });
});

describe('the list of sprites', () => {
  async function openWithSprites(count: number) {
    const platform = await openTestPlatform();
    const names = Array.from({ length: count }, (_, index) => `web-${String(index).padStart(3, '0')}`);
    for (const name of names) await platform.admin.createSprite({ organization: 'acme', name });
    const list = (query: string) => platform.call({ path: `/v1/sprites?${query}` });
    return { platform, names, list };
  }

  test('goes through every sprite once, whatever is inserted between the pages', async () => {
    const { platform, names, list } = await openWithSprites(25);
    const seen: string[] = [];
    let token = '';
    for (let page = 0; ; page += 1) {
      const { json } = await list(`max_results=10${token}`);
      expect(json.name).toBe('acme');
      seen.push(...json.sprites.map((sprite: { name: string }) => sprite.name));
      if (!json.has_more) {
        expect(json).not.toHaveProperty('next_continuation_token');
        break;
      }
      token = `&continuation_token=${json.next_continuation_token}`;
      await platform.admin.createSprite({ organization: 'acme', name: `aaa-${page}` });
    }
    expect(seen).toEqual(names);
  });

  test('gives 50 unless told, and up to 500', async () => {
    const { list } = await openWithSprites(60);
    expect((await list('')).json.sprites).toHaveLength(50);
    expect((await list('max_results=500')).json).toMatchObject({ has_more: false, cold: 60 });
    for (const wrong of ['0', '501', '-1', 'x', '1.5', '']) {
      const answer = await list(`max_results=${wrong}`);
      expect(answer.status, wrong).toBe(400);
      expect(answer.json.details.fields[0].field).toBe('query.max_results');
    }
  });

  test('counts the sprites that it returns, not all of them', async () => {
    const { list } = await openWithSprites(12);
    expect((await list('max_results=5')).json).toMatchObject({ running: 0, warm: 0, cold: 5, has_more: true });
  });

  test('takes a prefix, and gives nothing of another organization', async () => {
    const { platform, list } = await openWithSprites(3);
    await platform.admin.createSprite({ organization: 'acme', name: 'db-1' });
    await platform.admin.createOrganization('other');
    await platform.admin.createSprite({ organization: 'other', name: 'db-2' });
    const names = async (query: string) => (await list(query)).json.sprites.map((one: { name: string }) => one.name);
    expect(await names('prefix=db')).toEqual(['db-1']);
    expect(await names('prefix=web-00')).toEqual(['web-000', 'web-001', 'web-002']);
    expect(await names('prefix=%25')).toEqual([]);
    expect(await names('prefix=WEB')).toEqual([]);
    expect(await names(`prefix=${encodeURIComponent("' OR 1=1")}`)).toEqual([]);
  });

  test('refuses a token that was changed, cut, made up, or that belongs to another list', async () => {
    const { platform, list } = await openWithSprites(3);
    const token: string = (await list('max_results=1')).json.next_continuation_token;
    await platform.admin.createOrganization('other');
    const other = await platform.admin.createToken({ organization: 'other' });
    const flipped = [...token].map((letter, index) => {
      const changed = letter === 'A' ? 'B' : 'A';
      return token.slice(0, index) + changed + token.slice(index + 1);
    });
    for (const wrong of [...flipped, token.slice(0, -1), `${token}A`, '', 'x', 'web-000', `${token}%3D`]) {
      const answer = await list(`max_results=1&continuation_token=${wrong}`);
      expect(answer.status, wrong).toBe(400);
      expect(answer.json.details.fields[0].field).toBe('query.continuation_token');
    }
    expect((await list(`prefix=w&continuation_token=${token}`)).status).toBe(400);
    const path = `/v1/sprites?max_results=1&continuation_token=${token}`;
    expect((await platform.call({ path, token: other })).status).toBe(400);
    expect((await platform.call({ path })).status).toBe(200);
  });
});
