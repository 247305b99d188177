// The first database of a platform that there was, opened by today's: it is migrated, and everything in it is served.
import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { sqliteMigrations } from '../../src/platform/storage/sqlite-schema.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { tempDir } from '../support/temp-dir.ts';

const fixture = (name: string) => new URL(`fixtures/schema-1/${name}`, import.meta.url);
const tokens: { readonly token: string; readonly sprite_token: string } = JSON.parse(
  readFileSync(fixture('tokens.json'), 'utf8'),
);

function versionOf(path: string): number {
  const db = new Database(path, { readonly: true });
  const version = Number(db.pragma('user_version', { simple: true }));
  db.close();
  return version;
}

test('what was in it is there, works and can be changed, also at the next start', async () => {
  const dir = tempDir();
  const path = join(dir, 'platform.db');
  copyFileSync(fixture('platform.db'), path);
  expect(versionOf(path)).toBe(1);
  const provider = await startEchoProvider();
  const own = { ...provider.entry('own'), address: { type: 'own' } } as const;
  const options = { dir, catalogue: [provider.entry('hub'), own] };
  const first = await openTestPlatform(options);
  expect(versionOf(path)).toBe(sqliteMigrations.length);
  const [token, sprite] = [new Secret(tokens.token), new Secret(tokens.sprite_token)];
  const { json } = await first.call({ path: '/v1/sprites', token });
  expect(json.sprites).toMatchObject([
    { name: 'dev-1', labels: ['a', 'b'], status: 'cold', organization: 'acme' },
    { name: 'dev-2', url_settings: { auth: 'public' } },
  ]);
  const ports = (await first.call({ path: '/v1/sprites/dev-1/ports', token: sprite })).json;
  expect(ports.ports).toMatchObject([{ port: 8080, pid: 7 }]);
  const machine = await first.admin.readMachine({ organization: 'acme', sprite: 'dev-1' });
  const read = await first.call({ path: `/v1/apps/acme/machines/${machine.id}`, token });
  expect(read.json).toMatchObject({ id: machine.id, state: 'stopped' });
  const connectors = (await first.call({ path: '/v1/oauth/connections', token })).json.connections;
  expect(connectors).toMatchObject([
    { id: 'conn_1', provider: 'hub', access_policy: { sprite_labels: ['a'] }, connection_type: 'api_key' },
    { id: 'conn_own', provider_info: { base_api_url: 'http://127.0.0.1:9/api' } },
  ]);
  const use = (platform: typeof first) => platform.call({ path: '/v1/gateway/hub/conn_1/x', token: sprite });
  expect((await use(first)).status).toBe(200);
  expect(provider.requests.at(-1)).toContain('Bearer key-1');
  const away = await first.call({ path: '/v1/gateway/own/conn_own/x', token: sprite });
  expect(away.json.error).toBe('upstream_failed');
  const body = { access_policy: { name_prefix: 'dev-' } };
  const changed = await first.call({ method: 'PATCH', path: '/v1/oauth/connections/conn_1', token, body });
  expect(changed.json.connection.access_policy).toEqual(body.access_policy);
  expect((await first.call({ method: 'POST', path: '/v1/sprites', token, body: { name: 'dev-3' } })).status).toBe(201);
  expect((await first.call({ method: 'DELETE', path: '/v1/sprites/dev-2', token })).status).toBe(204);
  await first[Symbol.asyncDispose]();
  const second = await openTestPlatform(options);
  expect((await use(second)).status).toBe(200);
  const names = (await second.call({ path: '/v1/sprites', token })).json.sprites;
  expect(names.map(({ name }: { name: string }) => name)).toEqual(['dev-1', 'dev-3']);
});
