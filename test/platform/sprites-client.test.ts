// The sprites of the platform through `@fly/sprites`, the client that programs of the ecosystem use, as it is.
import { APIError, SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { openTestPlatform } from '../support/open-platform.ts';

async function openClient() {
  const platform = await openTestPlatform();
  return { platform, client: new SpritesClient(platform.token.reveal(), { baseURL: platform.url }) };
}

test('it makes, reads, changes and deletes a sprite', async () => {
  const { client } = await openClient();
  const made = await client.createSprite('dev-1', { labels: ['a', 'b'], urlSettings: { auth: 'sprite' } });
  expect(made).toMatchObject({ name: 'dev-1', status: 'cold', labels: ['a', 'b'], urlSettings: { auth: 'sprite' } });
  expect(made.organizationName).toBe('acme');
  expect((await client.getSprite('dev-1')).id).toBe(made.id);
  await client.updateURLSettings('dev-1', { auth: 'sprite', privateAccess: 'admins' });
  const labelled = await client.updateSprite('dev-1', { labels: ['c'] });
  expect(labelled).toMatchObject({ labels: ['c'], urlSettings: { auth: 'sprite', privateAccess: 'admins' } });
  await client.updateURLSettings('dev-1', { auth: 'public' });
  const open = await client.getSprite('dev-1');
  expect(open).toMatchObject({ labels: ['c'], urlSettings: { auth: 'public' } });
  expect(open.createdAt).toBeInstanceOf(Date);
  await client.deleteSprite('dev-1');
  await expect(client.getSprite('dev-1')).rejects.toMatchObject({ statusCode: 404 });
});

test('it goes through every page, by prefix as well', async () => {
  const { platform, client } = await openClient();
  const names = Array.from({ length: 120 }, (_, index) => `web-${String(index).padStart(3, '0')}`);
  for (const name of [...names, 'db-1']) await platform.admin.createSprite({ organization: 'acme', name });
  expect((await client.listAllSprites('web-')).map(({ name }) => name)).toEqual(names);
  const page = await client.listSprites({ maxResults: 10 });
  expect(page).toMatchObject({ hasMore: true, cold: 10, running: 0, organizationName: 'acme' });
});

test('it reads our errors as its own', async () => {
  const { platform, client } = await openClient();
  await client.createSprite('dev-1');
  const taken = await client.createSprite('dev-1').catch((error: unknown) => error);
  expect(taken).toBeInstanceOf(APIError);
  expect(taken).toMatchObject({ statusCode: 409, errorCode: 'already_exists' });
  const stranger = new SpritesClient('nobody', { baseURL: platform.url });
  await expect(stranger.listSprites()).rejects.toMatchObject({ statusCode: 401, errorCode: 'unauthorized' });
});
