// Port notices of an agent: in order, each once, and the ports that are open by the last word.
import { describe, expect, test } from 'vitest';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import { eventually } from '../support/eventually.ts';
import { machineCommand, openTestPlatform, readReport } from '../support/open-platform.ts';

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

describe('the ports of a machine', () => {
  async function openRunning(mode: readonly string[] = []) {
    const platform = await openTestPlatform({ agentCommand: machineCommand(...mode) });
    const name = { organization: 'acme', sprite: 'dev-1' };
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1', config: { restart: { policy: 'no' } } });
    await platform.admin.startMachine(name);
    const machine = await platform.admin.readMachine(name);
    const token = await platform.admin.createToken(name);
    const post = (notices: unknown) =>
      platform.call({ method: 'POST', path: '/v1/sprites/dev-1/ports/notices', body: { notices }, token });
    const ports = async () => (await platform.call({ path: '/v1/sprites/dev-1/ports' })).json.ports;
    expect((await post([notice('a', 'port_opened', 80), notice('b', 'port_opened', 81)])).status).toBe(200);
    expect(await ports()).toHaveLength(2);
    return { platform, name, machine, post, ports };
  }

  test('are closed when its instance ends, each with one notice, and open again in the next instance', async () => {
    const { platform, name, post, ports } = await openRunning();
    await platform.admin.suspendMachine(name);
    await eventually(async () => (await platform.admin.readMachine(name)).state === 'suspended');
    expect(await ports()).toHaveLength(2);
    await platform.admin.stopMachine(name);
    expect(await ports()).toEqual([]);
    await platform.admin.startMachine(name);
    expect(await ports()).toEqual([]);
    await post([notice('c', 'port_opened', 81)]);
    expect(await ports()).toMatchObject([{ port: 81 }]);
    await platform[Symbol.asyncDispose]();
    await using storage = openSqliteStorage(platform.dir);
    const told = await storage.all<{ type: string; port: number }>(
      'SELECT type, port FROM port_notices ORDER BY sequence',
    );
    expect(told.map(({ type, port }) => `${type} ${port}`)).toEqual([
      'port_opened 80',
      'port_opened 81',
      'port_closed 80',
      'port_closed 81',
      'port_opened 81',
      'port_closed 81',
    ]);
  });

  test('are closed when it crashes', async () => {
    const { machine, ports } = await openRunning();
    const { pid } = await eventually(() => readReport(machine.dir));
    process.kill(pid, 'SIGKILL');
    await eventually(async () => (await ports()).length === 0);
  });
});
