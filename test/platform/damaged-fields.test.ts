// Every field of every row of the database damaged, one at a time: the platform opens, and what is not damaged is served.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { openTestPlatform } from '../support/open-platform.ts';

interface Field {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

/** Whatever a column holds, this is of its kind and nothing that was ever written there. */
const damage: Readonly<Record<string, readonly string[]>> = {
  TEXT: ["'{'", "''"],
  INTEGER: ['-1', '9007199254740993'],
  BLOB: ["x''", "x'00'"],
};

/** Two of everything, of which the newer one will be damaged. */
async function seed() {
  const provider = await startEchoProvider();
  const oauth = await startOAuthProvider();
  oauth.state.expires_in = 7_200;
  const options = {
    catalogue: [provider.entry('sample'), oauth.entry('hub')],
    oauthClients: [oauth.client('hub')],
  };
  const platform = await openTestPlatform(options);
  const { admin } = platform;
  const organization = 'acme';
  for (const name of ['dev-1', 'dev-2']) await admin.createSprite({ organization, name, labels: ['a'] });
  const access_policy = { allow_all: true };
  for (const id of ['conn_1', 'conn_2']) {
    await admin.createConnector({ organization, provider: 'sample', id, api_key: new Secret('k'), access_policy });
  }
  const { json } = await platform.call({ path: '/v1/oauth/hub/authorize' });
  const body = { code: oauth.agree(json.authorize_url), state: json.state, access_policy };
  await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body });
  await platform.call({ path: '/v1/oauth/hub/authorize' });
  const good = await admin.createToken({ organization, sprite: 'dev-1' });
  const bad = await admin.createToken({ organization, sprite: 'dev-2' });
  const { id } = await admin.readMachine({ organization, sprite: 'dev-2' });
  const claimed = { generation: 1, incarnation: 'ab'.repeat(16) };
  const report = { ...claimed, reason: 'start', gap_ms: null, wall_skew_ms: null, holds: [], version: '1' };
  await platform.call({ method: 'POST', path: `/v1/apps/acme/machines/${id}/resumed`, token: bad, body: report });
  const notice = { id: 'n', type: 'port_opened', port: 80, address: 'x', pid: 1, time: '2025-01-01T00:00:00.000Z' };
  const notices = { notices: [notice] };
  await platform.call({ method: 'POST', path: '/v1/sprites/dev-2/ports/notices', token: bad, body: notices });
  for (const token of [good, bad]) await platform.call({ path: '/v1/gateway/sample/conn_2/x', token });
  await platform[Symbol.asyncDispose]();
  return { dir: platform.dir, options, token: platform.token, good, bad, machine_id: id };
}

function listFields(path: string): Field[] {
  const db = new Database(path);
  try {
    const tables = db
      .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .all();
    return tables.flatMap(({ name: table }) =>
      db
        .prepare<[string], { name: string; type: string; pk: number }>(
          'SELECT name, type, pk FROM pragma_table_info(?)',
        )
        .all(table)
        .filter(({ pk }) => pk === 0)
        .map(({ name: column, type }) => ({ table, column, type })),
    );
  } finally {
    db.close();
  }
}

/** Undefined where the field cannot be that, as a unique one, or where there is nothing to damage. */
function damageNewest(path: string, { table, column }: Field, value: string): Disposable | undefined {
  const db = new Database(path);
  db.pragma('foreign_keys = OFF');
  db.exec('BEGIN');
  const hasRowId = db.prepare('SELECT 1 FROM pragma_table_list(?) WHERE wr = 0').get(table) !== undefined;
  const newest = hasRowId ? `WHERE rowid = (SELECT max(rowid) FROM ${table})` : '';
  const before = `SELECT * FROM ${table}`;
  const kept = db.prepare<[], Record<string, unknown>>(before).all();
  const { changes } = db.prepare(`UPDATE ${table} SET ${column} = ${value} ${newest}`).run();
  db.exec('COMMIT');
  if (changes === 0) {
    db.close();
    return undefined;
  }
  return {
    [Symbol.dispose]() {
      db.exec(`BEGIN; DELETE FROM ${table}`);
      for (const row of kept) {
        const names = Object.keys(row);
        db.prepare(
          `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`,
        ).run(row);
      }
      db.exec('COMMIT');
      db.close();
    },
  };
}

test('no damaged field of one row makes a call fail, or takes the other rows along', async () => {
  const seeded = await seed();
  const platform = await openTestPlatform({ dir: seeded.dir, ...seeded.options, checkAnswers: false });
  const path = join(seeded.dir, 'platform.db');
  const machine = `/v1/apps/acme/machines/${seeded.machine_id}`;
  /** What has nothing to do with any damage. */
  const whole = [
    ['/v1/sprites', seeded.token],
    ['/v1/sprites/dev-1', seeded.good],
    ['/v1/oauth/connections', seeded.token],
    ['/v1/gateway/list', seeded.good],
    ['/v1/gateway/usage', seeded.token],
    ['/v1/gateway/sample/conn_1/x', seeded.good],
    ['/metrics', undefined],
  ] as const;
  const others = [
    ['/v1/sprites/dev-2', seeded.bad],
    ['/v1/sprites/dev-2/ports', seeded.bad],
    ['/v1/gateway/list', seeded.bad],
    ['/v1/gateway/sample/conn_2/x', seeded.bad],
    [machine, seeded.token],
    [`${machine}/wait?state=stopped&timeout=1`, seeded.token],
  ] as const;
  const failures: string[] = [];
  let tried = 0;
  for (const field of listFields(path)) {
    for (const value of damage[field.type] ?? []) {
      using damaged = damageNewest(path, field, value);
      if (damaged === undefined) continue;
      tried += 1;
      const note = (what: string) => failures.push(`${field.table}.${field.column} = ${value}: ${what}`);
      for (const [target, token] of whole) {
        const { status } = await platform.call({ path: target, token });
        if (status !== 200) note(`${status} ${target}`);
      }
      for (const [target, token] of others) {
        const { status } = await platform.call({ path: target, token });
        if (status >= 500) note(`${status} ${target}`);
      }
    }
  }
  expect(failures).toEqual([]);
  expect(tried).toBeGreaterThan(100);
}, 180_000);

test('no damaged field of one row keeps the platform from starting', async () => {
  const seeded = await seed();
  const source = join(seeded.dir, 'platform.db');
  const failures: string[] = [];
  for (const field of listFields(source)) {
    const dir = memoryDir();
    const path = join(dir, 'platform.db');
    copyFileSync(source, path);
    // Not undone: the copy is thrown away.
    if (damageNewest(path, field, damage[field.type]?.[0] ?? 'NULL') === undefined) continue;
    try {
      await using platform = await openTestPlatform({ dir, ...seeded.options });
      const { status } = await platform.call({ path: '/v1/sprites/dev-1', token: seeded.good });
      if (status !== 200) failures.push(`${field.table}.${field.column}: ${status}`);
    } catch (error) {
      failures.push(`${field.table}.${field.column}: ${String(error)}`);
    }
  }
  expect(failures).toEqual([]);
}, 180_000);
