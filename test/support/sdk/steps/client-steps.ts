// What `SpritesClient` and the errors of the package do.
import { APIError, ExecError, parseAPIError, SpritesClient } from '@fly/sprites';
import { expect } from 'vitest';
import type { SdkStack, Steps } from '../sdk-stack.ts';

const words = { running: 'running', suspended: 'warm', stopped: 'cold' } as const;
const healths = { running: 'healthy', suspended: 'asleep', stopped: 'asleep' } as const;
const madeName = ({ sprite }: SdkStack) => `${sprite.name}-made`;

const limit = new APIError('too many', {
  statusCode: 429,
  errorCode: 'concurrent_sprite_limit_exceeded',
  retryAfterHeader: 3,
});
const failed = new ExecError('failed', { stdout: 'a', stderr: 'b', exitCode: 3 });

export const clientSteps: Steps = {
  'SpritesClient.sprite': async ({ client }) => expect(client.sprite('any').name).toBe('any'),
  'SpritesClient.createSprite': async (stack) => {
    const made = await stack.client.createSprite(madeName(stack), { labels: ['a'], urlSettings: { auth: 'sprite' } });
    expect(made).toMatchObject({ name: madeName(stack), status: 'cold', labels: ['a'] });
  },
  'SpritesClient.getSprite': async ({ client, sprite: { name }, organization, state }) => {
    const read = await client.getSprite(name);
    expect(read).toMatchObject({ name, organizationName: organization, status: words[state] });
    await expect(client.getSprite('none')).rejects.toMatchObject({ statusCode: 404 });
  },
  'SpritesClient.listSprites': async (stack) => {
    const prefix = madeName(stack);
    expect((await stack.client.listSprites({ prefix })).sprites.map(({ name }) => name)).toEqual([prefix]);
  },
  'SpritesClient.listAllSprites': async (stack) => {
    const names = (await stack.client.listAllSprites()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining([stack.sprite.name, madeName(stack)]));
    const some = await stack.client.listAllSprites(stack.sprite.name);
    expect(some.map(({ name }) => name)).toEqual([stack.sprite.name, madeName(stack)]);
  },
  'SpritesClient.watchSprites': async ({ client, sprite: { name }, organization, state }) => {
    const stream = await client.watchSprites({ prefix: name });
    expect(await stream.next()).toMatchObject({ name, status: words[state], organization: { name: organization } });
    stream.close();
  },
  'SpritesClient.updateURLSettings': async (stack) => {
    await stack.client.updateURLSettings(madeName(stack), { auth: 'sprite', privateAccess: 'admins' });
    expect((await stack.client.getSprite(madeName(stack))).urlSettings).toEqual({
      auth: 'sprite',
      privateAccess: 'admins',
    });
  },
  'SpritesClient.updateSprite': async (stack) => {
    expect((await stack.client.updateSprite(madeName(stack), { labels: ['b'] })).labels).toEqual(['b']);
  },
  'SpritesClient.checkSprite': async ({ client, sprite: { name }, state }) => {
    const check = await client.checkSprite(name);
    expect(check).toMatchObject({ spriteName: name, status: healths[state], checkedAt: expect.any(Date) });
  },
  'SpritesClient.upgradeSprite': async ({ client, sprite }) => await client.upgradeSprite(sprite.name),
  'SpritesClient.restartSprite': async ({ client, sprite, machine }) => {
    const answer = await client.restartSprite(sprite.name);
    expect(answer).toEqual({ spriteName: sprite.name, machineId: machine.id, message: expect.stringMatching(/./) });
    await machine.wait('running');
  },
  'SpritesClient.deleteSprite': async (stack) => {
    await stack.client.deleteSprite(madeName(stack));
    await expect(stack.client.getSprite(madeName(stack))).rejects.toMatchObject({ statusCode: 404 });
  },
  'SpriteListStream.next': async ({ client, sprite: { name } }) => {
    const stream = await client.watchSprites({ prefix: name });
    expect(await stream.next()).toMatchObject({ name });
    stream.close();
  },
  'SpriteListStream.processAll': async ({ client, sprite }) => {
    const stream = await client.watchSprites({ prefix: sprite.name });
    const names: string[] = [];
    await stream.processAll(({ name }) => {
      names.push(name ?? '');
      stream.close();
    });
    expect(names).toEqual([sprite.name]);
  },
  'SpriteListStream.close': async ({ client }) => {
    const stream = await client.watchSprites();
    stream.close();
    expect(await stream.next()).toBeNull();
  },
  'SpriteListStream.@@asyncIterator': async ({ client, sprite }) => {
    for await (const { name } of await client.watchSprites({ prefix: sprite.name })) {
      expect(name).toBe(sprite.name);
      break;
    }
  },
  'APIError.isRateLimitError': async () => expect(limit.isRateLimitError()).toBe(true),
  'APIError.isCreationRateLimited': async () => expect(limit.isCreationRateLimited()).toBe(false),
  'APIError.isConcurrentLimitExceeded': async () => expect(limit.isConcurrentLimitExceeded()).toBe(true),
  'APIError.getRetryAfterSeconds': async () => expect(limit.getRetryAfterSeconds()).toBe(3),
  'parseAPIError()': async ({ url, token }) => {
    const answer = await fetch(`${url}/v1/sprites/none`, { headers: { authorization: `Bearer ${token}` } });
    const error = parseAPIError(answer.status, await answer.text(), Object.fromEntries(answer.headers));
    expect(error).toMatchObject({ statusCode: 404, errorCode: 'not_found' });
    const stranger = new SpritesClient('nobody', { baseURL: url });
    await expect(stranger.listSprites()).rejects.toMatchObject({ statusCode: 401, errorCode: 'unauthorized' });
  },
  'ExecError.exitCode': async () => expect(failed.exitCode).toBe(3),
  'ExecError.stdout': async () => expect(failed.stdout).toBe('a'),
  'ExecError.stderr': async () => expect(failed.stderr).toBe('b'),
};
