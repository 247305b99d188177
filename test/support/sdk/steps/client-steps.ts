// What `SpritesClient` and the errors of the package do.
import { APIError, ExecError, parseAPIError, SpritesClient } from '@fly/sprites';
import { expect } from 'vitest';
import type { Steps } from '../sdk-stack.ts';

const limit = new APIError('too many', {
  statusCode: 429,
  errorCode: 'concurrent_sprite_limit_exceeded',
  retryAfterHeader: 3,
});
const failed = new ExecError('failed', { stdout: 'a', stderr: 'b', exitCode: 3 });

export const clientSteps: Steps = {
  'SpritesClient.sprite': async ({ client }) => expect(client.sprite('dev-1').name).toBe('dev-1'),
  'SpritesClient.createSprite': async ({ client }) => {
    const made = await client.createSprite('sdk-1', { labels: ['a'], urlSettings: { auth: 'sprite' } });
    expect(made).toMatchObject({ name: 'sdk-1', status: 'cold', labels: ['a'] });
  },
  'SpritesClient.getSprite': async ({ client }) => {
    expect(await client.getSprite('dev-1')).toMatchObject({ name: 'dev-1', organizationName: 'acme' });
    await expect(client.getSprite('none')).rejects.toMatchObject({ statusCode: 404 });
  },
  'SpritesClient.listSprites': async ({ client }) => {
    expect((await client.listSprites({ prefix: 'dev-' })).sprites.map(({ name }) => name)).toEqual(['dev-1']);
  },
  'SpritesClient.listAllSprites': async ({ client }) => {
    expect((await client.listAllSprites()).map(({ name }) => name)).toEqual(['dev-1', 'sdk-1']);
  },
  'SpritesClient.watchSprites': async ({ client }) => {
    const stream = await client.watchSprites({ prefix: 'dev-' });
    expect(await stream.next()).toMatchObject({ name: 'dev-1', status: 'running', organization: { name: 'acme' } });
    stream.close();
  },
  'SpritesClient.updateURLSettings': async ({ client }) => {
    await client.updateURLSettings('sdk-1', { auth: 'sprite', privateAccess: 'admins' });
    expect((await client.getSprite('sdk-1')).urlSettings).toEqual({ auth: 'sprite', privateAccess: 'admins' });
  },
  'SpritesClient.updateSprite': async ({ client }) => {
    expect((await client.updateSprite('sdk-1', { labels: ['b'] })).labels).toEqual(['b']);
  },
  'SpritesClient.checkSprite': async ({ client }) => {
    const check = await client.checkSprite('dev-1');
    expect(check).toMatchObject({ spriteName: 'dev-1', status: 'healthy', checkedAt: expect.any(Date) });
  },
  'SpritesClient.upgradeSprite': async ({ client }) => await client.upgradeSprite('dev-1'),
  'SpritesClient.restartSprite': async ({ client, machine }) => {
    const answer = await client.restartSprite('dev-1');
    expect(answer).toEqual({ spriteName: 'dev-1', machineId: machine.id, message: expect.stringMatching(/./) });
    expect((await machine.wait('state=running')).status).toBe(200);
  },
  'SpritesClient.deleteSprite': async ({ client }) => {
    await client.deleteSprite('sdk-1');
    await expect(client.getSprite('sdk-1')).rejects.toMatchObject({ statusCode: 404 });
  },
  'SpriteListStream.next': async ({ client }) => {
    const stream = await client.watchSprites();
    expect(await stream.next()).toMatchObject({ name: 'dev-1' });
    stream.close();
  },
  'SpriteListStream.processAll': async ({ client }) => {
    const stream = await client.watchSprites();
    const names: string[] = [];
    await stream.processAll(({ name }) => {
      names.push(name ?? '');
      stream.close();
    });
    expect(names).toEqual(['dev-1']);
  },
  'SpriteListStream.close': async ({ client }) => {
    const stream = await client.watchSprites();
    stream.close();
    expect(await stream.next()).toBeNull();
  },
  'SpriteListStream.@@asyncIterator': async ({ client }) => {
    for await (const { name } of await client.watchSprites()) {
      expect(name).toBe('dev-1');
      break;
    }
  },
  'APIError.isRateLimitError': async () => expect(limit.isRateLimitError()).toBe(true),
  'APIError.isCreationRateLimited': async () => expect(limit.isCreationRateLimited()).toBe(false),
  'APIError.isConcurrentLimitExceeded': async () => expect(limit.isConcurrentLimitExceeded()).toBe(true),
  'APIError.getRetryAfterSeconds': async () => expect(limit.getRetryAfterSeconds()).toBe(3),
  'parseAPIError()': async ({ machine }) => {
    const { status, text, headers } = await machine.platform.call({ path: '/v1/sprites/none' });
    const error = parseAPIError(status, text, Object.fromEntries(headers));
    expect(error).toMatchObject({ statusCode: 404, errorCode: 'not_found' });
    const stranger = new SpritesClient('nobody', { baseURL: machine.platform.url });
    await expect(stranger.listSprites()).rejects.toMatchObject({ statusCode: 401, errorCode: 'unauthorized' });
  },
  'ExecError.exitCode': async () => expect(failed.exitCode).toBe(3),
  'ExecError.stdout': async () => expect(failed.stdout).toBe('a'),
  'ExecError.stderr': async () => expect(failed.stderr).toBe('b'),
};
