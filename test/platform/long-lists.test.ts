// Lists without a page limit are read, judged and compared in several turns of the event loop.
import { expect, onTestFinished, test } from 'vitest';
import { inBatches } from '../../src/core/in-batches.ts';
import { nextSlice } from '../../src/core/next-slice.ts';
import { createCompiledPolicies } from '../../src/platform/connectors/compiled-policies.ts';
import { type ConnectorRow, createConnectorStore } from '../../src/platform/connectors/records/connector-store.ts';
import { splitByUse } from '../../src/platform/connectors/split-by-use.ts';
import { createChangeFeed } from '../../src/platform/gateway/change-feed.ts';
import { toConnectorsDigest } from '../../src/platform/gateway/connectors-digest.ts';
import { createOrganizationStore } from '../../src/platform/organizations/organization-store.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import type { Sql } from '../../src/platform/storage/storage.ts';
import type { Principal } from '../../src/platform/tokens/principal.ts';
import { eventually } from '../support/eventually.ts';
import { memoryDir } from '../support/memory-dir.ts';

const closed = { key_id: 'k', data_key: Buffer.of(2), secret: Buffer.of(3) };
const ids = (rows: readonly ConnectorRow[]) => rows.map(({ id }) => id);

/** How often the event loop comes round until `work` is done. */
async function turnsOf<T>(work: Promise<T>): Promise<{ readonly value: T; readonly turns: number }> {
  let turns = 0;
  let next = setImmediate(count);
  function count() {
    turns += 1;
    next = setImmediate(count);
  }
  const value = await work;
  clearImmediate(next);
  return { value, turns };
}

async function openStore(count: number, policyOf: (index: number) => string | null) {
  const storage = openSqliteStorage(memoryDir());
  onTestFinished(() => storage[Symbol.asyncDispose]());
  const { id: organization_id } = await createOrganizationStore(storage).create('acme', 1);
  const pages: number[] = [];
  const counted: Sql = {
    ...storage,
    async all<T>(text: string, values?: Parameters<Sql['all']>[1]) {
      const rows = await storage.all<T>(text, values);
      pages.push(rows.length);
      return rows;
    },
  };
  const store = createConnectorStore(counted);
  await storage.transaction(async (sql) => {
    const inside = createConnectorStore(sql);
    for (let index = 0; index < count; index += 1) {
      const id = `c${String(index).padStart(4, '0')}`;
      const provider = index % 3 === 0 ? 'openai' : 'anthropic';
      const whose = { id, organization_id, provider, provider_account_id: id, connection_type: 'api_key' } as const;
      await inside.insert({ ...whose, base_api_url: null, access_policy: policyOf(index), closed }, 1);
    }
  });
  const list = (provider?: string) => store.list(organization_id, provider);
  return { list, pages };
}

const sprite = (name: string) => ({ type: 'sprite', sprite: { name, labels: [] } }) as unknown as Principal;

test('connectors are read in pages, each of them once, by provider and id', async () => {
  const { list, pages } = await openStore(700, () => null);
  const all = await list();
  expect(pages).toEqual([16, 256, 256, 172]);
  expect(new Set(ids(all)).size).toBe(700);
  const sorted = all.toSorted((a, b) => (`${a.provider} ${a.id}` < `${b.provider} ${b.id}` ? -1 : 1));
  expect(ids(all)).toEqual(ids(sorted));
  expect(ids(await list('openai'))).toEqual(ids(all.filter(({ provider }) => provider === 'openai')));
  expect(await list('none')).toEqual([]);
  const { turns } = await turnsOf(list());
  expect(turns).toBeGreaterThanOrEqual(3);
});

test('a page has fewer rows where policies are long', async () => {
  const { list, pages } = await openStore(40, () => JSON.stringify({ allowed_endpoints: ['/'.repeat(100_000)] }));
  expect(await list()).toHaveLength(40);
  expect(pages).toEqual([16, 5, 5, 5, 5, 4]);
});

test('policies are judged and connectors are digested in several turns', async () => {
  const { list } = await openStore(1_000, (index) =>
    JSON.stringify({
      name_prefix: index % 2 === 0 ? 'web-' : 'api-',
      allowed_endpoints: [`/${'x'.repeat(200)}${index}`],
    }),
  );
  const rows = await list();
  const judged = await turnsOf(splitByUse(rows, sprite('web-1'), createCompiledPolicies()));
  expect(judged.turns).toBeGreaterThanOrEqual(5);
  expect(ids(judged.value.usable)).toEqual(ids(rows.filter(({ id }) => Number(id.slice(1)) % 2 === 0)));
  expect(ids(judged.value.denied)).toEqual(ids(rows.filter(({ id }) => Number(id.slice(1)) % 2 === 1)));
  const digested = await turnsOf(toConnectorsDigest(rows));
  expect(digested.turns).toBeGreaterThanOrEqual(5);
  const [first, ...others] = rows;
  const digestOf = async (changed: Partial<ConnectorRow>) =>
    await toConnectorsDigest([{ ...(first as ConnectorRow), ...changed }, ...others]);
  expect(await digestOf({ credential_version: 9 })).toBe(digested.value);
  for (const changed of [{ name: 'n' }, { access_policy: null }, { scopes: 'a' }] as const) {
    expect(await digestOf(changed)).not.toBe(digested.value);
  }
});

test('many sprites are asked about a batch at a time', async () => {
  const items = Array.from({ length: 200 }, (_, index) => index);
  const { value, turns } = await turnsOf(inBatches(items, async (item) => item * 2));
  expect(value).toEqual(items.map((item) => item * 2));
  expect(turns).toBeGreaterThanOrEqual(3);
});

test('readers that begin at once share one look, and one more finds what was written meanwhile', async () => {
  let looks = 0;
  let written = 'one';
  const feed = createChangeFeed(() => {
    looks += 1;
    const seen = written;
    const read = nextSlice();
    return async () => {
      await read;
      return seen;
    };
  });
  const sent: string[] = [];
  const sink = () =>
    ({
      onClose: () => undefined,
      end: () => undefined,
      send: ({ type, version }: { type: string; version: string }) => sent.push(`${type} ${version}`),
    }) as unknown as Parameters<typeof feed.follow>[2];
  const readers = Array.from({ length: 50 }, (_, index) =>
    feed.follow(`spr_${index}`, undefined, sink(), async () => undefined),
  );
  written = 'two';
  await Promise.all(readers);
  expect(looks).toBe(1);
  await eventually(() => sent.filter((line) => line === 'changed two').length === 50);
  expect(sent.filter((line) => line === 'hello one')).toHaveLength(50);
  expect(looks).toBeLessThanOrEqual(3);
});
