// Port notices of an agent: in order, each once, and the ports that are open by the last word.
import { expect, test } from 'vitest';
import { openTestPlatform } from '../support/open-platform.ts';

const notice = (id: string, type: string, port: number, pid = 1) => ({
  id,
  type,
  port,
  pid,
  address: `https://dev-1.acme.example:${port}`,
  time: `2025-01-01T00:00:0${id.length}.000Z`,
});

async function openWithSprite() {
  const platform = await openTestPlatform();
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const post = (notices: unknown) =>
    platform.call({ method: 'POST', path: '/v1/sprites/dev-1/ports/notices', body: { notices }, token });
  const ports = async () => (await platform.call({ path: '/v1/sprites/dev-1/ports', token })).json.ports;
  return { platform, post, ports };
}

test('a port is open after port_opened and not after port_closed', async () => {
  const { post, ports } = await openWithSprite();
  expect(await ports()).toEqual([]);
  const opened = notice('a', 'port_opened', 8_080, 7);
  expect((await post([opened, notice('b', 'port_opened', 80)])).json).toEqual({ accepted: 2 });
  const { address, time } = opened;
  expect(await ports()).toMatchObject([{ port: 80 }, { port: 8_080, pid: 7, address, time }]);
  await post([notice('c', 'port_closed', 80)]);
  expect(await ports()).toMatchObject([{ port: 8_080 }]);
});

test('notices are taken in the order of the request', async () => {
  const { post, ports } = await openWithSprite();
  await post([notice('a', 'port_opened', 80), notice('b', 'port_closed', 80), notice('c', 'port_opened', 80, 9)]);
  expect(await ports()).toMatchObject([{ port: 80, pid: 9 }]);
});

test('a notice that is sent again is accepted and changes nothing', async () => {
  const { post, ports } = await openWithSprite();
  const opened = notice('a', 'port_opened', 80);
  await post([opened]);
  await post([notice('b', 'port_closed', 80)]);
  expect((await post([opened, notice('c', 'port_opened', 443)])).json).toEqual({ accepted: 2 });
  expect(await ports()).toMatchObject([{ port: 443 }]);
});

test('two sprites may use the same notice ids', async () => {
  const { platform, post } = await openWithSprite();
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' });
  const body = { notices: [notice('a', 'port_opened', 22)] };
  await post([notice('a', 'port_opened', 80)]);
  await platform.call({ method: 'POST', path: '/v1/sprites/dev-2/ports/notices', body, token });
  const { json } = await platform.call({ path: '/v1/sprites/dev-2/ports' });
  expect(json.ports).toMatchObject([{ port: 22 }]);
});

test('one malformed notice refuses them all, naming the field', async () => {
  const { post, ports } = await openWithSprite();
  const answer = await post([notice('a', 'port_opened', 80), notice('b', 'port_moved', 81)]);
  expect(answer.status).toBe(400);
  expect(answer.json.details.fields[0].field).toBe('body.notices.1.type');
  expect(await ports()).toEqual([]);
});

test('ports are still known after a restart', async () => {
  const { platform, post } = await openWithSprite();
  await post([notice('a', 'port_opened', 80)]);
  await platform[Symbol.asyncDispose]();
  const next = await openTestPlatform({ dir: platform.dir });
  expect((await next.call({ path: '/v1/sprites/dev-1/ports' })).json.ports).toMatchObject([{ port: 80 }]);
});
