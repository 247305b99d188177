// Machines made and changed over the machines API, as real processes.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LEASE_HEADER } from '../../src/contract/machine-leases.ts';
import { eventually } from '../support/eventually.ts';
import { machineCommand, openTestPlatform, readReport, type TestPlatformOptions } from '../support/open-platform.ts';

const machinesPath = '/v1/apps/acme/machines';

async function open(options: TestPlatformOptions = {}) {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), ...options });
  const { call } = platform;
  return {
    platform,
    dirOf: (id: string) => join(platform.dir, 'machines', id),
    create: (body: object) => call({ method: 'POST', path: machinesPath, body }),
    read: async (id: string) => (await call({ path: `${machinesPath}/${id}` })).json,
    list: async (query = '') => (await call({ path: `${machinesPath}${query}` })).json,
    post: (id: string, action = '', body?: unknown, headers = {}) =>
      call({ method: 'POST', path: `${machinesPath}/${id}${action}`, body, headers }),
    wait: (id: string, query: string) => call({ path: `${machinesPath}/${id}/wait?${query}` }),
    destroy: (id: string, query = '') => call({ method: 'DELETE', path: `${machinesPath}/${id}${query}` }),
  };
}

describe('a machine', () => {
  test('is made, runs with its environment, and is in no list of sprites', async () => {
    const { create, read, wait, dirOf, platform } = await open();
    const config = { env: { GREETING: 'hello' }, guest: { memory_mb: 512, cpus: 1 }, metadata: { team: 'a' } };
    const made = await create({ name: 'web-1', config });
    expect(made).toMatchObject({ status: 200, json: { name: 'web-1', region: 'local', config } });
    const { id, instance_id } = made.json;
    expect((await wait(id, `state=started&instance_id=${instance_id}`)).json).toEqual({ ok: true });
    const report = await eventually(() => readReport(dirOf(id)));
    expect(report.env).toMatchObject({ GREETING: 'hello', FLY_VM_MEMORY_MB: '512', REMORA_MACHINE: id });
    expect(await read(id)).toMatchObject({
      state: 'running',
      instance_id,
      version: made.json.version,
      cordoned: false,
    });
    expect((await platform.call({ path: '/v1/sprites' })).json).toMatchObject({ sprites: [], running: 0 });
    expect((await platform.call({ path: `/v1/sprites/${id}` })).json).toMatchObject({ machine_id: id });
  });

  test('is made and not started with skip_launch, and its first boot is the instance that was answered', async () => {
    const { create, read, post } = await open();
    const { json } = await create({ config: {}, skip_launch: true });
    expect(json.name).toBe(json.id);
    expect((await post(json.id, '/start')).status).toBe(200);
    expect(await read(json.id)).toMatchObject({ state: 'running', instance_id: json.instance_id });
    await post(json.id, '/restart');
    expect((await read(json.id)).instance_id).not.toBe(json.instance_id);
  });

  test('that cannot be started is not made', async () => {
    const { create, list } = await open({ agentCommand: { command: '/nowhere/agent', args: [] } });
    expect((await create({ config: {} })).status).toBe(500);
    expect(await list()).toEqual([]);
  });

  test('has a name that no other machine of the app has', async () => {
    const { create } = await open();
    const body = { name: 'web', config: {}, skip_launch: true };
    expect((await create(body)).status).toBe(200);
    expect(await create(body)).toMatchObject({ status: 409, json: { error: 'already_exists' } });
  });

  test('that runs is deleted with force only, and its files go with it', async () => {
    const { create, destroy, read, list, dirOf } = await open();
    const { id } = (await create({ config: { metadata: { a: 'b' } } })).json;
    expect(await destroy(id)).toMatchObject({ status: 409, json: { error: 'invalid_state' } });
    expect((await destroy(id, '?force=true')).json).toEqual({ ok: true });
    expect(await read(id)).toMatchObject({ error: 'not_found' });
    expect(existsSync(dirOf(id))).toBe(false);
    expect(await list()).toEqual([]);
    expect(await list('?include_deleted')).toMatchObject([{ id, config: { metadata: { a: 'b' } } }]);
  });

  test('begins each boot with writable files as new, and keeps them over a suspend', async () => {
    const { create, post, wait, dirOf } = await open();
    const { id } = (await create({ config: {} })).json;
    await wait(id, 'state=started');
    const file = join(dirOf(id), 'home', 'written');
    writeFileSync(file, 'x');
    await post(id, '/suspend');
    await wait(id, 'state=suspended');
    await post(id, '/start');
    expect(existsSync(file)).toBe(true);
    await post(id, '/stop');
    await wait(id, 'state=stopped');
    await post(id, '/start');
    expect(existsSync(file)).toBe(false);
  });
});

describe('an update', () => {
  test('of a machine that runs replaces it', async () => {
    const { create, read, post, wait, dirOf, platform } = await open();
    const { id, version, instance_id } = (await create({ config: { env: { A: '1' } } })).json;
    await wait(id, 'state=started');
    const first = await eventually(() => readReport(dirOf(id)));
    const updated = await post(id, '', { config: { env: { A: '2' } }, current_version: version });
    expect(updated.status).toBe(200);
    expect(updated.json.version).not.toBe(version);
    expect(updated.json.instance_id).not.toBe(instance_id);
    await wait(id, `state=started&instance_id=${updated.json.instance_id}`);
    const next = await eventually(() => {
      const report = readReport(dirOf(id));
      return report !== undefined && report.pid !== first.pid && report;
    });
    expect(next.env.A).toBe('2');
    expect(await read(id)).toMatchObject({ state: 'running', config: { env: { A: '2' } } });
    const stale = await post(id, '', { config: {}, current_version: version });
    expect(stale).toMatchObject({ status: 409, json: { error: 'conflict' } });
    const versions = (await platform.call({ path: `${machinesPath}/${id}/versions` })).json.map(
      (each: { version: string }) => each.version,
    );
    expect(versions).toEqual([updated.json.version, version]);
  });

  test('of a machine that is suspended discards its snapshot, and one that is stopped stays stopped', async () => {
    const { create, read, post, wait } = await open();
    const { id } = (await create({ config: {} })).json;
    await wait(id, 'state=started');
    await post(id, '/suspend');
    await wait(id, 'state=suspended');
    await post(id, '', { config: { env: { A: '2' } } });
    expect(await read(id)).toMatchObject({ state: 'suspended', config: { env: { A: '2' } } });
    expect((await post(id, '/start')).json).toMatchObject({ previous_state: 'suspended', cold_start: 'deploy' });
    await post(id, '/stop');
    await wait(id, 'state=stopped');
    await post(id, '', { config: { env: { A: '3' } } });
    expect(await read(id)).toMatchObject({ state: 'stopped', config: { env: { A: '3' } } });
  });

  test('that is refused changes nothing', async () => {
    const { create, read, post, wait } = await open();
    await create({ name: 'taken', config: {}, skip_launch: true });
    const { id, instance_id } = (await create({ config: {} })).json;
    await wait(id, 'state=started');
    const refused = [
      await post(id, '', { name: 'taken', config: {} }),
      await post(id, '', { config: { mounts: [{ volume: 'vol_none', path: '/data' }] } }),
      await post(id, '', { config: { image: 'debian' } }),
      await post(id, '', { region: 'mars', config: {} }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([409, 400, 422, 400]);
    expect(await read(id)).toMatchObject({ state: 'running', instance_id });
  });
});

test('a suspend names every condition that fails, and an update makes the machine eligible', async () => {
  const { create, post, wait } = await open();
  const config = { guest: { memory_mb: 4096 }, init: { swap_size_mb: 512 }, schedule: 'daily' };
  const { id } = (await create({ config })).json;
  await wait(id, 'state=started');
  const refused = await post(id, '/suspend');
  expect(refused).toMatchObject({ status: 422, json: { error: 'not_eligible' } });
  const { conditions } = refused.json.details;
  const failing = conditions.filter(({ verdict }: { verdict: string }) => verdict === 'fails');
  expect(failing.map(({ condition }: { condition: string }) => condition)).toEqual(['memory', 'swap', 'schedule']);
  await post(id, '', { config: {} });
  await wait(id, 'state=started');
  expect((await post(id, '/suspend')).status).toBe(200);
});

describe('a configuration', () => {
  test.each([
    [{ nonsense: 1 }, 400, 'body.config'],
    [{ guest: { memory_mb: 'much' } }, 400, 'body.config.guest.memory_mb'],
    [{ env: { A: 'x'.repeat(200_000) } }, 400, 'body.config.env'],
    [{ services: [{ internal_port: 70_000 }] }, 400, 'body.config.services.0.internal_port'],
    [{ mounts: [{ volume: 'v', path: 'data' }] }, 400, 'body.config.mounts.0.path'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`k${at}`, 'v'])) },
      400,
      'body.config.metadata',
    ],
    [{ image: 'debian' }, 422, 'body.config.image'],
    [{ init: { exec: ['/bin/true'] } }, 422, 'body.config.init.exec'],
    [{ env: { NODE_OPTIONS: '--require=/x' } }, 422, 'body.config.env.NODE_OPTIONS'],
    [{ driver: 'other' }, 400, 'body.config.driver'],
  ])('%j is refused by the name of its field', async (config, status, field) => {
    const { create, list } = await open();
    const answer = await create({ config });
    expect(answer.status).toBe(status);
    expect(JSON.stringify(answer.json.details.fields)).toContain(`"${field}"`);
    expect(await list()).toEqual([]);
  });
});

test('the list selects by state, region, metadata and pages', async () => {
  const { create, list } = await open();
  const ids: string[] = [];
  for (const team of ['a', 'b', 'a']) {
    ids.push((await create({ config: { metadata: { team } }, skip_launch: true })).json.id);
  }
  const toIds = (machines: readonly { readonly id: string }[]) => machines.map(({ id }) => id);
  expect(toIds(await list('?metadata.team=a'))).toEqual([ids[0], ids[2]].sort());
  expect(await list('?state=started')).toEqual([]);
  expect(await list('?region=elsewhere')).toEqual([]);
  expect(toIds(await list('?limit=2'))).toEqual(ids.toSorted().slice(0, 2));
  expect((await list('?summary=true'))[0]).not.toHaveProperty('config.guest');
});

describe('metadata', () => {
  test('is read, set, replaced and removed without another version', async () => {
    const { create, read, platform } = await open();
    const { id, version } = (await create({ config: { metadata: { a: '1' } }, skip_launch: true })).json;
    const at = (method: string, key = '', body?: unknown) =>
      platform.call({ method, path: `${machinesPath}/${id}/metadata${key}`, body });
    expect((await at('POST', '/b', { value: '2' })).status).toBe(204);
    expect((await at('PUT', '/c', { value: '3' })).status).toBe(204);
    expect((await at('POST', '/role', { value: 'primary' })).status).toBe(204);
    expect((await at('GET')).json).toEqual({ a: '1', b: '2', c: '3', role: 'primary' });
    expect((await at('GET', '/b')).json).toEqual({ value: '2' });
    expect((await at('DELETE', '/b')).status).toBe(204);
    expect((await at('DELETE', '/b')).status).toBe(404);
    expect((await at('PUT', '', { z: '26' })).status).toBe(204);
    expect((await at('GET')).json).toEqual({ z: '26' });
    expect((await at('PUT', '/role', { value: 'leader' })).status).toBe(400);
    expect(await read(id)).toMatchObject({ version });
  });
});

describe('a lease', () => {
  test('lets its holder only move and change the machine', async () => {
    const { create, post, destroy, platform } = await open();
    const made = (await create({ config: {}, skip_launch: true, lease_ttl: 60 })).json;
    const path = `${machinesPath}/${made.id}/lease`;
    const held = { [LEASE_HEADER]: made.nonce };
    expect((await platform.call({ path })).json).toMatchObject({ status: 'success', data: { nonce: made.nonce } });
    const other = [
      await post(made.id, '/start'),
      await post(made.id, '/stop'),
      await post(made.id, '/suspend'),
      await post(made.id, '/restart'),
      await post(made.id, '/cordon'),
      await post(made.id, '', { config: {} }),
      await post(made.id, '/metadata/a', { value: 'b' }),
      await post(made.id, '/lease', { ttl: 5 }),
      await destroy(made.id, '?force=true'),
    ];
    expect(other.map(({ status }) => status)).toEqual(other.map(() => 409));
    expect((await post(made.id, '/start', undefined, held)).status).toBe(200);
    expect((await post(made.id, '/lease', { ttl: 90, description: 'more' }, held)).json.data).toMatchObject({
      nonce: made.nonce,
      description: 'more',
    });
    expect((await platform.call({ method: 'DELETE', path })).status).toBe(409);
    expect((await platform.call({ method: 'DELETE', path, headers: held })).json).toEqual({ ok: true });
    expect((await platform.call({ path })).status).toBe(404);
    expect((await post(made.id, '/stop', undefined, held)).status).toBe(409);
    expect((await post(made.id, '/stop')).status).toBe(200);
  });
});

test('a cordon is kept and lifted', async () => {
  const { create, read, post } = await open();
  const { id } = (await create({ config: {}, skip_launch: true, skip_service_registration: true })).json;
  expect(await read(id)).toMatchObject({ cordoned: true });
  await post(id, '/uncordon');
  expect(await read(id)).toMatchObject({ cordoned: false });
  await post(id, '/cordon');
  expect(await read(id)).toMatchObject({ cordoned: true });
});

test('each thing may be done to a machine three times at once, and reads ten times', async () => {
  const { platform, create } = await open({
    machineRates: { moves: { burst: 3, perSecond: 0.001 }, reads: { burst: 10, perSecond: 0.001 } },
  });
  const { id } = (await create({ config: {}, skip_launch: true })).json;
  const path = `${machinesPath}/${id}`;
  const statuses = async (count: number, method: string, at: string) =>
    (await Promise.all(Array.from({ length: count }, () => platform.call({ method, path: at })))).map(
      (each) => each.status,
    );
  expect((await statuses(4, 'POST', `${path}/cordon`)).sort()).toEqual([200, 200, 200, 429]);
  expect((await statuses(11, 'GET', path)).filter((status) => status === 429)).toHaveLength(1);
  const refused = await platform.call({ method: 'POST', path: `${path}/cordon` });
  expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_requests' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await platform.call({ method: 'POST', path: `${path}/uncordon` })).status).toBe(200);
});

test('a machine gets a signal, and its own token lets it suspend itself only', async () => {
  const { create, post, wait, dirOf, platform } = await open();
  const { id } = (await create({ config: {} })).json;
  await wait(id, 'state=started');
  expect((await post(id, '/signal', { signal: 'SIGUSR9' })).status).toBe(400);
  const token = readFileSync(join(dirOf(id), 'token'), 'utf8');
  const headers = { authorization: `Bearer ${token}` };
  const ask = async (method: string, at: string) =>
    (await fetch(`${platform.url}${machinesPath}/${id}${at}`, { method, headers })).status;
  expect(await ask('GET', '/lease')).toBe(403);
  expect(await ask('DELETE', '')).toBe(403);
  expect(await ask('POST', '/suspend')).toBe(200);
  await wait(id, 'state=suspended');
  await post(id, '/start');
  expect((await post(id, '/signal', { signal: 'KILL' })).json).toEqual({ ok: true });
});
