// Watching the ports of a sprite at the platform: by the port watcher of `@fly/sprites`, and with what ends a watch.
import { once } from 'node:events';
import { SpritesClient } from '@fly/sprites';
import { describe, expect, onTestFinished, test } from 'vitest';
import WebSocket from 'ws';
import type { SpritePortEvent } from '../../src/contract/port-notices.ts';
import type { Secret } from '../../src/core/secret.ts';
import { createNoticeStore } from '../../src/platform/port-notices/port-notice-store.ts';
import { PortWatches } from '../../src/platform/port-notices/port-watches.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import { eventually } from '../support/eventually.ts';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';

const name = { organization: 'acme', sprite: 'dev-1' };

const notice = (id: string, type: string, port: number, pid = 1) => ({
  id,
  type,
  port,
  pid,
  address: `https://dev-1.acme.example:${port}`,
  time: `2025-01-01T00:00:0${id.length}.000Z`,
});

const shown = (type: string, port: number, pid = 1) => ({
  type,
  port,
  pid,
  address: `https://dev-1.acme.example:${port}`,
});

async function openWithSprite(options: Parameters<typeof openTestPlatform>[0] = {}) {
  const platform = await openTestPlatform(options);
  await platform.admin.createSprite({
    organization: 'acme',
    name: 'dev-1',
    config: { restart: { policy: 'no' } },
  });
  const token = await platform.admin.createToken(name);
  const post = (...notices: unknown[]) =>
    platform.call({ method: 'POST', path: '/v1/sprites/dev-1/ports/notices', body: { notices }, token });
  const watch = async (as: Secret = platform.token) => {
    const client = new SpritesClient(as.reveal(), { baseURL: platform.url });
    const watcher = await client.sprite('dev-1').watchPorts();
    onTestFinished(() => watcher.close());
    return watcher;
  };
  return { platform, token, post, watch };
}

test('the list first, then what opens and closes, to every reader alike', async () => {
  const { post, watch, token } = await openWithSprite();
  const first = await watch();
  expect(await first.next()).toEqual({ type: 'port_list', ports: [] });
  await post(notice('a', 'port_opened', 8_080, 7));
  expect(await first.next()).toEqual(shown('port_opened', 8_080, 7));
  const second = await watch(token);
  expect(await second.next()).toMatchObject({ type: 'port_list', ports: [{ port: 8_080, pid: 7 }] });
  await post(notice('b', 'port_opened', 80));
  // Another process has taken the port over.
  await post(notice('cc', 'port_closed', 80), notice('dd', 'port_opened', 80, 9));
  await post(notice('e', 'port_closed', 8_080));
  for (const watcher of [first, second]) {
    expect([await watcher.next(), await watcher.next(), await watcher.next(), await watcher.next()]).toEqual([
      shown('port_opened', 80),
      shown('port_closed', 80),
      shown('port_opened', 80, 9),
      shown('port_closed', 8_080, 7),
    ]);
  }
});

test('the ports of an instance close with it, and a suspend or a watch changes nothing', async () => {
  const { platform, post, watch } = await openWithSprite({ agentCommand: machineCommand() });
  await platform.admin.startMachine(name);
  await post(notice('a', 'port_opened', 80), notice('b', 'port_opened', 81));
  await platform.admin.suspendMachine(name);
  const state = async () => (await platform.admin.readMachine(name)).state;
  await eventually(async () => (await state()) === 'suspended');
  const watcher = await watch();
  expect(await watcher.next()).toMatchObject({ type: 'port_list', ports: [{ port: 80 }, { port: 81 }] });
  expect(await state()).toBe('suspended');
  await platform.admin.stopMachine(name);
  expect([await watcher.next(), await watcher.next()]).toEqual([shown('port_closed', 80), shown('port_closed', 81)]);
  expect(await state()).toBe('stopped');
});

test('the frames are events only, and pings are those of the protocol', async () => {
  const { platform } = await openWithSprite();
  const socket = new WebSocket(`${platform.url.replace('http', 'ws')}/v1/sprites/dev-1/ports/watch?keepalive=1`, {
    headers: { authorization: `Bearer ${platform.token.reveal()}` },
  });
  onTestFinished(() => socket.terminate());
  const frames: string[] = [];
  socket.on('message', (frame) => frames.push(String(frame)));
  await once(socket, 'ping');
  expect(frames).toEqual(['{"type":"port_list","ports":[]}']);
});

describe('a watch ends', () => {
  async function openSocket(platform: Awaited<ReturnType<typeof openTestPlatform>>, token: Secret) {
    const socket = new WebSocket(`${platform.url.replace('http', 'ws')}/v1/sprites/dev-1/ports/watch`, {
      headers: { authorization: `Bearer ${token.reveal()}` },
    });
    onTestFinished(() => socket.terminate());
    await once(socket, 'message');
    return { socket, closed: once(socket, 'close').then(([code, reason]) => `${code} ${reason}`) };
  }

  test('with its token, and no other one does', async () => {
    const { platform, token } = await openWithSprite();
    const { closed } = await openSocket(platform, token);
    const other = await openSocket(platform, platform.token);
    const own = (await platform.admin.listTokens('acme')).find(({ sprite_id }) => sprite_id !== null);
    await platform.admin.revokeToken('acme', own?.id ?? '');
    expect(await closed).toContain('unauthorized');
    expect(other.socket.readyState).toBe(WebSocket.OPEN);
  });

  test('with its sprite', async () => {
    const { platform } = await openWithSprite();
    const { closed } = await openSocket(platform, platform.token);
    await platform.call({ method: 'DELETE', path: '/v1/sprites/dev-1' });
    expect(await closed).toContain('not_found');
  });
});

test('a sprite that is not there is a 404, and the sprite of another token a 403', async () => {
  const { platform } = await openWithSprite();
  expect((await platform.call({ path: '/v1/sprites/dev-2/ports/watch' })).status).toBe(404);
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' });
  expect((await platform.call({ path: '/v1/sprites/dev-1/ports/watch', token })).status).toBe(403);
});

test('what another platform process has stored is found without a word of it', async () => {
  const { platform, post } = await openWithSprite();
  const { id } = (await platform.call({ path: '/v1/sprites/dev-1' })).json;
  await using storage = openSqliteStorage(platform.dir);
  const watches = new PortWatches({ notices: createNoticeStore(storage), poll_ms: 20 });
  const events: SpritePortEvent[] = [];
  let close = () => {};
  const sink = {
    closed: false,
    send: (event: SpritePortEvent) => events.push(event),
    sendTexts: (texts: readonly string[]) => events.push(...texts.map((text) => JSON.parse(text))),
    onClose: (listener: () => void) => {
      close = listener;
    },
  };
  await watches.follow(id, { sink: sink as never, recheck: async () => undefined });
  await post(notice('a', 'port_opened', 80));
  await eventually(() => events.length === 2);
  expect(events).toEqual([{ type: 'port_list', ports: [] }, shown('port_opened', 80)]);
  close();
  await post(notice('b', 'port_closed', 80));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(events).toHaveLength(2);
});
