// The stream of the states of sprites, by the client of the Sprites API, against a real platform.
import { type SpriteListStream, SpritesClient } from '@fly/sprites';
import { expect, onTestFinished, test } from 'vitest';
import type { Secret } from '../../src/core/secret.ts';
import type { SpriteRow } from '../../src/platform/sprites/sprite-store.ts';
import { createSpriteWatch } from '../../src/platform/sprites/watch/sprite-watch.ts';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';

async function openWatched() {
  const platform = await openTestPlatform({ agentCommand: machineCommand() });
  for (const name of ['a-1', 'a-2', 'b-1']) await platform.admin.createSprite({ organization: 'acme', name });
  const clientOf = (token: Secret) => new SpritesClient(token.reveal(), { baseURL: platform.url });
  return { platform, clientOf, client: clientOf(platform.token) };
}

async function watch(client: SpritesClient, options: { prefix?: string; maxResults?: number } = {}) {
  const stream = await client.watchSprites(options);
  onTestFinished(() => stream.close());
  return stream;
}

async function take(stream: SpriteListStream, count: number) {
  const events = [];
  while (events.length < count) events.push(await stream.next());
  return events.map((event) => [event?.name, event?.status]);
}

test('the states come by name, then each sprite that is made and deleted', async () => {
  const { client } = await openWatched();
  const stream = await watch(client);
  const first = await stream.next();
  expect(first).toMatchObject({
    name: 'a-1',
    status: 'cold',
    timestamp: expect.any(Date),
    organization: { name: 'acme', running: 0, warm: 0, cold: 3 },
  });
  expect(first?.type).toBeUndefined();
  expect(await take(stream, 2)).toEqual([
    ['a-2', 'cold'],
    ['b-1', 'cold'],
  ]);
  await client.createSprite('c-1');
  expect(await take(stream, 1)).toEqual([['c-1', 'cold']]);
  await client.deleteSprite('a-1');
  expect(await stream.next()).toMatchObject({ name: 'a-1', status: 'deleted', organization: { cold: 3 } });
});

test('a machine that runs, sleeps and stops is seen', async () => {
  const { platform, client } = await openWatched();
  const { id } = await platform.admin.readMachine({ organization: 'acme', sprite: 'b-1' });
  const stream = await watch(client, { prefix: 'b-' });
  expect(await take(stream, 1)).toEqual([['b-1', 'cold']]);
  const post = (action: string) => platform.call({ method: 'POST', path: `/v1/apps/acme/machines/${id}/${action}` });
  expect((await post('start')).status).toBe(200);
  const statusUntil = async (wanted: string) => {
    for (;;) {
      const event = await stream.next();
      if (event?.status === wanted) return event;
    }
  };
  expect((await statusUntil('running')).organization).toMatchObject({ running: 1, cold: 2 });
  expect((await post('suspend')).status).toBe(200);
  expect((await statusUntil('warm')).lastWarmingAt).toBeInstanceOf(Date);
  expect((await post('stop')).status).toBe(200);
  await statusUntil('cold');
});

test('a prefix and a limit choose what is listed first, and changes come all the same', async () => {
  const { client } = await openWatched();
  const some = await watch(client, { prefix: 'a-', maxResults: 1 });
  expect(await take(some, 1)).toEqual([['a-1', 'cold']]);
  await client.createSprite('b-2');
  await client.createSprite('a-3');
  expect(await take(some, 1)).toEqual([['a-3', 'cold']]);
});

test('another organization is not seen, and a revoked token ends its stream', async () => {
  const { platform, client, clientOf } = await openWatched();
  await platform.admin.createOrganization('other');
  const other = await platform.admin.createToken({ organization: 'other' });
  await clientOf(other).createSprite('mine');
  const theirs = await watch(clientOf(other));
  expect(await take(theirs, 1)).toEqual([['mine', 'cold']]);
  await client.createSprite('c-1');
  const [token] = (await platform.call({ path: '/v1/tokens', token: other })).json.tokens;
  const ended = await platform.call({ method: 'DELETE', path: `/v1/tokens/${token.id}`, token: other });
  expect(ended.status).toBe(204);
  expect(await theirs.next()).toMatchObject({ type: 'error' });
  expect(await theirs.next()).toBeNull();
});

test('one caller may watch a limited number of times', async () => {
  const { platform } = await openWatched();
  const headers = { accept: 'application/x-ndjson', authorization: `Bearer ${platform.token.reveal()}` };
  const gone = new AbortController();
  onTestFinished(() => gone.abort());
  const ask = () => fetch(`${platform.url}/v1/sprites`, { headers, signal: gone.signal });
  const answers = await Promise.all(Array.from({ length: 70 }, ask));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(64);
  expect(statuses.filter((status) => status === 429)).toHaveLength(6);
});

test('nothing is read while nobody watches, and there are heartbeats while somebody does', async () => {
  const listeners = new Map<string, ((change: never) => void)[]>();
  const reads: string[] = [];
  const row = { id: 'spr_1', organization_id: 'org_1', name: 'one', machine_state: 'running', agent_version: null };
  const sprites = {
    async find(id: string) {
      reads.push(id);
      return { ...row, last_running_at: null, last_warming_at: null } as unknown as SpriteRow;
    },
    async list() {
      reads.push('list');
      return [{ ...row, last_running_at: null, last_warming_at: null } as unknown as SpriteRow];
    },
  };
  const organization = {
    id: 'org_1',
    slug: 'acme',
    display_name: null,
    running_limit: 5,
    warm_limit: null,
    creation_limit: null,
  };
  const token = { id: 'tok_1', access: 'full', user_id: null, machine_id: null, expires_at: null } as const;
  const caller = { type: 'organization', organization, token } as const;
  const spriteWatch = createSpriteWatch({
    sprites,
    recheck: async () => caller,
    changes: {
      subscribe(type, listener) {
        listeners.set(type, [...(listeners.get(type) ?? []), listener as (change: never) => void]);
      },
    },
    clock: { wall_ms: () => 0, mono_ms: () => performance.now() } as never,
    log: { warn: () => undefined },
    heartbeat_ms: 20,
  });
  const publish = () => {
    for (const listener of [...listeners.values()].flat()) listener({ sprite_id: 'spr_1' } as never);
  };
  publish();
  await new Promise((resolve) => setImmediate(resolve));
  expect(reads).toEqual([]);
  const lines: string[] = [];
  let close = () => {};
  const sink = {
    open: () => undefined,
    sendText: (text: string) => void lines.push(text),
    sendTexts: (texts: readonly string[]) => void lines.push(...texts),
    onClose: (listener: () => void) => {
      close = listener;
    },
    closed: false,
    waiting_bytes: 0,
  };
  await spriteWatch.follow(caller, {}, sink as never);
  await expect.poll(() => lines.filter((line) => line.includes('heartbeat')).length).toBeGreaterThan(1);
  expect(JSON.parse(lines.findLast((line) => line.includes('heartbeat')) ?? '')).toMatchObject({
    type: 'heartbeat',
    org: { name: 'acme', running: 1, running_limit: 5 },
  });
  close();
  const before = [...reads];
  publish();
  await new Promise((resolve) => setImmediate(resolve));
  expect(reads).toEqual(before);
});
