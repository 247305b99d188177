// What is left of a platform that was killed, was restored from a backup, or shares its database: every resource once, and none forgotten.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Secret } from '../../../src/core/secret.ts';
import { eventually } from '../../support/eventually.ts';
import { openFreePort } from '../../support/free-port.ts';
import { openTestPlatform, type TestPlatform } from '../../support/open-platform.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../../support/postgres-server.ts';
import { IMPATIENT, openExtensions, QUICK } from '../../support/provisioner.ts';
import { tempDir } from '../../support/temp-dir.ts';

/** A copy of the database of a platform that goes on: what a platform finds that starts after a kill at this moment. */
async function copyOf(platform: TestPlatform): Promise<string> {
  const dir = tempDir();
  const db = new Database(join(platform.dir, 'platform.db'), { readonly: true });
  await db.backup(join(dir, 'platform.db'));
  db.close();
  return dir;
}

const reader = (platform: TestPlatform, token: Secret) => async (name: string) =>
  (await platform.call({ path: `/v1/extensions/${name}`, token })).json;

test('a platform that was killed between any two steps goes on where the other one was, with the same id', async () => {
  const { provider, platform, token, call, create } = await openExtensions();
  const dirs: string[] = [];
  /** The directory is copied before each answer of the provider, and after the last one. */
  provider.spoil(async () => {
    dirs.push(await copyOf(platform));
    return false;
  });
  const { id } = (await create('my-kv', { app: 'web' })).json;
  await call('PATCH', '/v1/extensions/my-kv', { primary_region: 'fra' });
  await call('DELETE', '/v1/extensions/my-kv');
  dirs.push(await copyOf(platform));
  provider.spoil(() => false);
  await platform[Symbol.asyncDispose]();
  expect(provider.asked.map(({ method }) => method)).toEqual(['POST', 'GET', 'PATCH', 'DELETE']);
  const ends = ['ready', 'ready', 'ready', 'deleted', 'deleted'];
  for (const [index, dir] of dirs.entries()) {
    const next = await openTestPlatform({ dir, extensionTimes: QUICK });
    const read = reader(next, token);
    await eventually(async () => (await read(id)).state === ends[index]);
    const secrets = (await next.call({ path: '/v1/apps/web/secrets', token })).json.secrets;
    expect(secrets.length).toBe(ends[index] === 'ready' ? 2 : 0);
    await next[Symbol.asyncDispose]();
    expect(provider.resources.size).toBe(ends[index] === 'ready' ? 1 : 0);
  }
  expect(new Set(provider.of('POST').map(({ json }) => json.id))).toEqual(new Set([id]));
});

test('a database of an hour ago makes nothing twice and deletes nothing; what it lacks is found by webhooks, or said', async () => {
  const listen = { host: '127.0.0.1', port: await openFreePort() };
  const { provider, platform, user, token, create, call, tell } = await openExtensions({ listen });
  const kept = (await create('kept', { app: 'web' })).json;
  const dir = await copyOf(platform);
  const lost = (await create('lost')).json;
  await call('DELETE', '/v1/extensions/kept');
  await platform[Symbol.asyncDispose]();
  const before = provider.asked.length;

  const next = await openTestPlatform({ dir, extensionTimes: QUICK, listen });
  const read = reader(next, token);
  // The client still has connections to the platform that was at this address before.
  await eventually(() => next.call({ path: '/v1/health' }).then(Boolean, () => false));
  expect((await read('kept')).state).toBe('ready');
  expect((await read('lost')).error).toBe('not_found');
  // The one that was deleted in that hour is not there any more: it is said, and stays for a person to decide.
  const refreshed = (await next.call({ path: '/v1/extensions/kept?refresh=true', token })).json;
  expect(refreshed).toMatchObject({ state: 'ready', error: { code: 'unknown_at_provider' } });
  expect((await tell('resource.updated', { id: lost.provider_id, status: 'sleeping' })).status).toBe(202);
  expect(next.log.some(({ outcome, resource }) => outcome === 'unknown' && resource === lost.provider_id)).toBe(true);
  expect((await read('lost')).error).toBe('not_found');
  const { organization_id } = provider.of('POST')[0]?.json ?? {};
  const told = { id: lost.provider_id, name: 'lost', status: 'ready', organization_id, user_id: user.id };
  await tell('resource.created', told);
  expect(await read('lost')).toMatchObject({ state: 'ready', provider_id: lost.provider_id, unrequested: true });
  expect(provider.asked.slice(before).map(({ method }) => method)).toEqual(['GET']);
  expect([...provider.resources.keys()]).toEqual([lost.provider_id]);
  expect((await next.call({ method: 'DELETE', path: '/v1/extensions/kept', token })).status).toBe(204);
  expect(kept.id).not.toBe(lost.id);
});

describe.skipIf(isWithoutPostgres())('two platforms on one PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('each extension is asked for by one at a time, and the other goes on where one has ended', async () => {
    const database = await server.createDatabase();
    // A provider that is slow to answer is asked again, and each request is counted here.
    const extensionTimes = { ...IMPATIENT, provision_ms: QUICK.provision_ms };
    const { provider, platform, token, create } = await openExtensions({ database, extensionTimes });
    const other = await openTestPlatform({ database, extensionTimes: QUICK });
    const read = reader(other, token);
    const open = new Set<string>();
    let clashes = 0;
    provider.spoil(async ({ json, path }) => {
      const id = json?.id ?? path.split('/').at(-1)?.replace('r-', '');
      if (open.has(id)) clashes += 1;
      open.add(id);
      await new Promise((resolve) => setTimeout(resolve, 20));
      open.delete(id);
      return false;
    });
    const names = Array.from({ length: 20 }, (_, index) => `kv-${index}`);
    const body = (name: string) => ({ provider: 'kv', name });
    const made = await Promise.all(
      names.map((name, index) =>
        index % 2 === 0
          ? create(name)
          : other.call({ method: 'POST', path: '/v1/extensions', body: body(name), token }),
      ),
    );
    expect(made.every(({ status }) => status === 201 || status === 202)).toBe(true);
    for (const name of names) await eventually(async () => (await read(name)).state === 'ready');
    const again = await Promise.all([
      create('same'),
      other.call({ method: 'POST', path: '/v1/extensions', body: body('same'), token }),
    ]);
    expect(again.map(({ json }) => json.error?.code ?? json.error ?? 'made').sort()).toEqual([
      'already_exists',
      'made',
    ]);
    expect(clashes).toBe(0);
    expect(provider.of('POST').length).toBe(21);
    expect(provider.resources.size).toBe(21);
    // The one that asks ends in the middle: its claim is over when it starts again.
    provider.spoil(({ method }) => method === 'DELETE');
    const removing = platform.call({ method: 'DELETE', path: '/v1/extensions/same', token });
    await eventually(() => provider.of('DELETE').length === 1);
    await removing;
    await platform[Symbol.asyncDispose]();
    provider.spoil(() => false);
    await openTestPlatform({ dir: platform.dir, database, extensionTimes: QUICK });
    await eventually(() => provider.resources.size === 20);
  });

  test('webhooks count once, at whichever of them they come in', async () => {
    const database = await server.createDatabase();
    const { platform, registered, token, create } = await openExtensions({ database });
    const other = await openTestPlatform({ database, extensionTimes: QUICK });
    const { provider_id } = (await create('my-kv')).json;
    const { signContent } = await import('../../../src/core/signature.ts');
    const bodies = Array.from({ length: 10 }, (_, index) =>
      JSON.stringify({
        timestamp: Math.floor(Date.now() / 1_000) - 20 + index,
        action: 'resource.updated',
        resource: { id: provider_id, status: `s-${index}` },
      }),
    );
    const send = async (url: string, body: string) => {
      const signature = signContent(registered.secrets.webhook, body);
      const headers = { 'content-type': 'application/json', 'x-signature': signature };
      return (await fetch(`${url}/api/hooks/extensions/kv`, { method: 'POST', headers, body })).status;
    };
    const sent = bodies.flatMap((body) => [send(platform.url, body), send(other.url, body)]);
    expect(new Set(await Promise.all(sent))).toEqual(new Set([202]));
    expect((await reader(other, token)('my-kv')).status).toBe('s-9');
  });
});
