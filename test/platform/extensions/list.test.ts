// Many extensions: the last page of the list costs what the first one does.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createExtensionProviderStore } from '../../../src/platform/extension-providers/extension-provider-store.ts';
import { createExtensionStore } from '../../../src/platform/extensions/extension-store.ts';
import { toNewRow } from '../../../src/platform/extensions/new-row.ts';
import { openExtensions } from '../../support/provisioner.ts';
import { toTestStorages } from '../../support/test-storages.ts';

interface Place {
  readonly created_at: number;
  readonly id: string;
}

const isAfter = (one: Place, other: Place) =>
  one.created_at > other.created_at || (one.created_at === other.created_at && one.id > other.id);

const COUNT = 1_500;
const PAGE = 50;

describe.each(toTestStorages())('on $name', ({ name, skip, start, end, create }) => {
  if (skip) {
    test.skip('the list', () => undefined);
    return;
  }
  beforeAll(start);
  afterAll(end);

  test('many are read page by page, each once, in the order in which they were made, by a range of the index', async () => {
    await using storage = await (await create())();
    await storage.transaction(async (sql) => {
      await createExtensionProviderStore(sql).insert({
        name: 'kv',
        base_url: 'https://kv.example',
        redirect_uris: [],
        app: null,
        region_aware: false,
        official: false,
        latency_sensitive: false,
        events: [],
        revenue_share_bp: 0,
        client_id: 'c',
        created_at: 1,
      });
      const store = createExtensionStore(sql);
      const shared = { provider: 'kv', app: null, user_id: 'u', user_email: 'u@x', user_role: 'admin' } as const;
      for (let index = 0; index < COUNT; index += 1) {
        const home = { organization_id: index % 10 === 0 ? 'org_b' : 'org_a', primary_region: null, read_regions: [] };
        const row = toNewRow(Math.floor(index / 50), { ...shared, ...home, name: `kv-${index}` });
        await store.insert(index % 7 === 0 ? { ...row, state: 'deleted' } : row);
      }
    });
    const store = createExtensionStore(storage);
    const names = new Set<string>();
    let after: Place | undefined;
    for (;;) {
      const rows = await store.page({ organization_id: 'org_a', after, limit: PAGE });
      const last = rows.at(-1);
      if (last === undefined) break;
      for (const [index, row] of rows.entries()) {
        names.add(row.name);
        const before = rows[index - 1] ?? after;
        if (before !== undefined) expect(isAfter(row, before)).toBe(true);
      }
      after = last;
    }
    expect(names.size).toBe(
      Array.from({ length: COUNT }).filter((_, index) => index % 10 !== 0 && index % 7 !== 0).length,
    );
    // A page begins where the one before has ended, and reads none of those before it.
    const page = `SELECT * FROM extensions WHERE organization_id = $1 AND state <> 'deleted'
      AND (created_at, id) > ($2, $3) ORDER BY created_at, id LIMIT $4`;
    if (name === 'PostgreSQL') await storage.run('ANALYZE extensions');
    const explain = name === 'SQLite' ? 'EXPLAIN QUERY PLAN' : 'EXPLAIN';
    const plan = JSON.stringify(await storage.all(`${explain} ${page}`, ['org_a', 5, 'ext_', PAGE]));
    expect(plan).toMatch(/extensions_by_organization/);
    expect(plan).toMatch(/\(created_at,id\)>\(\?,\?\)|Index Cond: .*ROW\(created_at, id\) > ROW/);
    expect(plan).not.toMatch(/TEMP B-TREE|Sort/);
  });
});

test('a list goes on where its token says, and takes no token that it has not given', async () => {
  const { create, call } = await openExtensions();
  for (const name of ['a', 'b', 'c']) await create(name);
  const first = (await call('GET', '/v1/extensions?max_results=2')).json;
  const rest = (await call('GET', `/v1/extensions?max_results=2&continuation_token=${first.next_continuation_token}`))
    .json;
  const names = [...first.extensions, ...rest.extensions].map(({ name }: { name: string }) => name);
  expect([names, rest.next_continuation_token]).toEqual([['a', 'b', 'c'], undefined]);
  expect((await call('GET', '/v1/extensions?continuation_token=x')).json.error).toBe('invalid_request');
});
