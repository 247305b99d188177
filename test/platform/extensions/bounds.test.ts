// What a provider sends is bounded: in how many extensions it makes here, and in how long one message holds the platform.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { EXTENSIONS_MAX } from '../../../src/platform/extensions/create-extension.ts';
import { SQLITE_FILE } from '../../../src/platform/storage/sqlite-storage.ts';
import { openExtensions } from '../../support/provisioner.ts';

test('an organization has so many extensions and no more, of those that it asks for and those that it is told of', async () => {
  const { provider, platform, user, create, tell } = await openExtensions();
  await create('first');
  const { organization_id } = provider.of('POST')[0]?.json ?? {};
  const db = new Database(join(platform.dir, SQLITE_FILE));
  db.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO extensions (id, organization_id, provider, name, provider_id, user_id, user_email, user_role, read_regions,
       unrequested, state, variables, begun_at, created_at, updated_at)
     SELECT 'ext_' || i, ?, 'kv', 'n' || i, 'p' || i, NULL, 'u@x', 'admin', '[]', 0, 'ready', '[]', 1, 1, 1 FROM n`,
  ).run(EXTENSIONS_MAX, organization_id);
  const count = () => db.prepare("SELECT count(*) FROM extensions WHERE state <> 'deleted'").pluck().get();
  const told = (id: string) =>
    tell('resource.created', { id, name: id, organization_id, user_id: user.id, status: 'ready' });
  expect((await told('r-last')).status).toBe(202);
  expect(count()).toBe(EXTENSIONS_MAX);
  expect((await told('r-more')).status).toBe(202);
  expect((await create('more')).json).toMatchObject({ error: 'limit_reached', details: { limit: EXTENSIONS_MAX } });
  expect(count()).toBe(EXTENSIONS_MAX);
  expect(provider.of('POST').length).toBe(1);
  db.close();
});
