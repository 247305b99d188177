// The sprites of the platform through `@fly/sprites`, the client that programs of the ecosystem use, as it is.
import { APIError, SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';

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

test('a limit of sprites is an error of its own, whichever call would go beyond it', async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), trustMachines: true });
  const client = new SpritesClient(platform.token.reveal(), { baseURL: platform.url });
  const sprite = await client.createSprite('dev-1');
  await platform.admin.setLimits('acme', { running_limit: 0 });
  const refused = await sprite.restart().catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(APIError);
  expect(refused).toMatchObject({ statusCode: 429, limit: 0, currentCount: 0 });
  const error = refused as APIError;
  expect([error.isConcurrentLimitExceeded(), error.isCreationRateLimited()]).toEqual([true, false]);
  expect(error.getRetryAfterSeconds()).toBeGreaterThan(0);
  await expect(sprite.listServices()).rejects.toThrow(/429.*concurrent_sprite_limit_exceeded/s);
  await expect(sprite.execFileHTTP('true')).rejects.toMatchObject({ errorCode: 'concurrent_sprite_limit_exceeded' });
  expect((await client.getSprite('dev-1')).status).toBe('cold');
});

test('calls that are too many are an error of its own', async () => {
  const platform = await openTestPlatform({ callRate: { burst: 3, perSecond: 0.01 } });
  const client = new SpritesClient(platform.token.reveal(), { baseURL: platform.url });
  const calls = await Promise.allSettled(Array.from({ length: 4 }, () => client.listSprites()));
  const errors = calls.flatMap((call) => (call.status === 'rejected' ? [call.reason] : []));
  expect(errors).toHaveLength(1);
  expect(errors[0]).toBeInstanceOf(APIError);
  expect(errors[0]).toMatchObject({ statusCode: 429, errorCode: 'too_many_requests' });
  expect([errors[0].isRateLimitError(), errors[0].isConcurrentLimitExceeded()]).toEqual([true, false]);
  expect(errors[0].getRetryAfterSeconds()).toBeGreaterThan(0);
});

test('it is told what is not done here, and nothing is made', async () => {
  const { platform, client } = await openClient();
  const refused = await client
    .createSprite('dev-1', { config: { ramMB: 512 }, environment: { A: '1' }, waitForCapacity: true, runtime: 'dev' })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ statusCode: 400, errorCode: 'unsupported_field' });
  expect(String(refused)).toMatch(/body\.environment, body\.wait_for_capacity, body\.runtime/);
  await expect(client.getSprite('dev-1')).rejects.toMatchObject({ statusCode: 404 });
  const nothing = { config: {}, environment: {}, waitForCapacity: false, runtime: 'default' } as const;
  expect((await client.createSprite('dev-1', nothing)).status).toBe('cold');
  for (const accept of [
    '*/*',
    'application/json',
    'text/html, application/xhtml+xml, */*;q=0.8',
    'application/x-ndjson, application/json',
  ]) {
    expect((await platform.call({ path: '/v1/sprites', headers: { accept } })).status, accept).toBe(200);
  }
});

test('the memory that it asks for is that of the machine, and what this platform cannot do is refused by name', async () => {
  const { platform, client } = await openClient();
  const refused = await client
    .createSprite('dev-1', { ramMB: 512, cpus: 4, region: 'ams', storageGB: 10 })
    .catch((error: unknown) => error);
  expect(refused).toMatchObject({ statusCode: 400, errorCode: 'unsupported_field' });
  expect(String(refused)).toMatch(/body\.config\.cpus: .*body\.config\.region: .*body\.config\.storage_gb: /);
  expect(String(refused)).not.toContain('ram_mb');
  const { json } = await platform.call({
    method: 'POST',
    path: '/v1/sprites',
    body: { name: 'a', config: { gpu: 1 } },
  });
  expect(json.error).toBe('invalid_request');
  await client.createSprite('dev-1', { ramMB: 512, cpus: 1, region: 'local' });
  const machine = await platform.admin.readMachine({ organization: 'acme', sprite: 'dev-1' });
  const read = await platform.call({ path: `/v1/apps/acme/machines/${machine.id}` });
  expect(read.json.config).toEqual({ driver: 'process', guest: { memory_mb: 512, cpus: 1 } });
  const elsewhere = { name: 'far', external: true, config: { ram_mb: 512 } };
  const answer = await platform.call({ method: 'POST', path: '/v1/sprites', body: elsewhere });
  expect(answer.json).toMatchObject({ error: 'unsupported_field' });
});

test('a connector is not told a new key in silence', async () => {
  const { platform } = await openClient();
  const create = { provider: 'openai', api_key: 'sk-1234567890123456789012345678901234567890' };
  const made = await platform.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body: create });
  const path = `/v1/oauth/connections/${made.json.connection.id}`;
  for (const method of ['PATCH', 'PUT']) {
    const answer = await platform.call({ method, path, body: { access_policy: {}, api_key: 'sk-new' } });
    expect(answer.json).toMatchObject({ error: 'unsupported_field', details: { fields: [{ field: 'body.api_key' }] } });
    expect(answer.text).not.toContain('sk-new');
  }
  const provision = { provider: 'openrouter', access_policy: { allow_all: true } };
  const answer = await platform.call({ method: 'POST', path: '/v1/oauth/connections/provision', body: provision });
  expect(answer.json.error).toBe('unsupported_field');
});
