// What extensions cost: what a provider answers, what of it gets into the ledger, and what is told of it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { createExtensionProviders } from '../../../src/platform/extension-providers/extension-providers.ts';
import { createProviderRegistration } from '../../../src/platform/extension-providers/provider-registration.ts';
import { toCostCsv } from '../../../src/platform/extensions/costs/cost-csv.ts';
import { DAY_MS, toCostDays } from '../../../src/platform/extensions/costs/cost-days.ts';
import { createCostFetches } from '../../../src/platform/extensions/costs/cost-fetches.ts';
import { HELD_MAX } from '../../../src/platform/extensions/costs/cost-ledger.ts';
import { createCostRounds } from '../../../src/platform/extensions/costs/cost-rounds.ts';
import { toShare } from '../../../src/platform/extensions/costs/cost-share.ts';
import { createCostReader } from '../../../src/platform/extensions/costs/cost-totals.ts';
import { fetchCosts } from '../../../src/platform/extensions/costs/fetch-costs.ts';
import { createOrganizationStore } from '../../../src/platform/organizations/organization-store.ts';
import { openSignedCalls } from '../../../src/platform/provider-calls/open-signed-calls.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { createVault } from '../../../src/platform/vault/vault.ts';
import { atEnd } from '../../support/at-end.ts';
import { startTestProvider } from '../../support/extension-provider.ts';
import { insertExtension } from '../../support/insert-extension.ts';
import { findLongestTurn_ms } from '../../support/longest-turn.ts';
import { openTestPlatform, TEST_KEY } from '../../support/open-platform.ts';
import { runHere } from '../../support/run-here.ts';
import { soon } from '../../support/soon.ts';
import { toTestStorages } from '../../support/test-storages.ts';

const DAY = Date.UTC(2026, 0, 5);
const iso = (day: number, hour = 0) => new Date(DAY + day * DAY_MS + hour * 3_600_000).toISOString();

interface Item {
  readonly extension_id?: unknown;
  readonly from?: unknown;
  readonly to?: unknown;
  readonly amount?: unknown;
  readonly currency?: unknown;
  readonly description?: unknown;
}

const item = (fields: Item = {}) => ({
  extension_id: 'p1',
  from: iso(0),
  to: iso(1),
  amount: 1_000,
  currency: 'USD',
  description: 'storage',
  ...fields,
});

describe.each(toTestStorages())('on $name', ({ skip, start, end, create }) => {
  beforeAll(start);
  afterAll(end);

  /** A provider `kv` with a share of 12.5 %, and one extension, which it calls p1. `fetch` asks it for one day. */
  async function open() {
    const storage = await (await create())();
    atEnd(() => storage[Symbol.asyncDispose]());
    const server = await startTestProvider();
    const vault = createVault([TEST_KEY]);
    const registration = createProviderRegistration({ storage, vault, clock: systemClock });
    const given = { name: 'kv', base_url: server.base_url, revenue_share_bp: 1_250 };
    const { secrets } = await registration.create(given);
    server.trust(secrets.provisioning);
    const acme = await createOrganizationStore(storage).create('acme', 1);
    await insertExtension(storage, { id: 'e1', provider: 'kv', provider_id: 'p1', organization_id: acme.id });
    const providers = createExtensionProviders({ sql: storage, vault, clock: systemClock });
    const calls = openSignedCalls(providers, systemClock);
    atEnd(() => calls[Symbol.asyncDispose]());
    const reader = createCostReader(storage);
    async function fetch(items: unknown, day = DAY) {
      const body = typeof items === 'string' ? items : JSON.stringify({ items });
      server.answer(() => ({ status: 200, body }));
      const provider = await providers.find('kv');
      if (provider === undefined) throw new Error('there is no provider');
      const deps = { storage, call: calls.call, clock: systemClock };
      return await fetchCosts(deps, provider, day, AbortSignal.timeout(120_000));
    }
    const totals = async () =>
      (await reader.sum({})).map(({ currency, amount, share, payout }) => [currency, amount, share, payout]);
    return { storage, server, providers, registration, calls, reader, fetch, totals, acme };
  }

  test.skipIf(skip)('a provider is asked for a day, signed, and its extensions are billed', async () => {
    const { server, fetch, reader, totals } = await open();
    expect(
      await fetch([item(), item({ currency: 'JPY', amount: 3 }), item({ description: 'traffic', amount: -7 })]),
    ).toEqual({
      billed: 3,
      held: 0,
      refused: 0,
    });
    expect(
      server.requests.map(({ method, path, query }) => [method, path, query.get('from'), query.get('to')]),
    ).toEqual([['GET', '/base/billing', iso(0), iso(1)]]);
    // 12.5 % of 993 is 124.125, of 3 it is 0.375: a fraction goes to the provider.
    expect(await totals()).toEqual([
      ['JPY', 3, 0, 3],
      ['USD', 993, 125, 868],
    ]);
    const lines = await reader.listLines('e1', {}, 0, 10);
    expect(lines).toHaveLength(3);
    expect(lines.find(({ description }) => description === 'storage')).toMatchObject({
      from_ms: DAY,
      to_ms: DAY + DAY_MS,
    });
  });

  test.skipIf(skip)('the same answer again, or one with another amount, doubles nothing', async () => {
    const { fetch, totals } = await open();
    await fetch([item()]);
    await fetch([item(), item()]);
    expect(await totals()).toEqual([['USD', 1_000, 125, 875]]);
    await fetch([item({ amount: 1_600 })]);
    expect(await totals()).toEqual([['USD', 1_600, 200, 1_400]]);
    await fetch([item({ amount: 0 })]);
    expect(await totals()).toEqual([['USD', 0, 0, 0]]);
  });

  test.skipIf(skip)(
    'an item that covers earlier ones takes their place; one that lies across them is held',
    async () => {
      const { fetch, totals, reader } = await open();
      await fetch([item({ to: iso(0, 12), amount: 400 }), item({ from: iso(0, 12), amount: 600 })]);
      expect(await totals()).toEqual([['USD', 1_000, 125, 875]]);
      expect(await fetch([item({ amount: 1_100 })])).toMatchObject({ billed: 1, held: 0 });
      expect(await totals()).toEqual([['USD', 1_100, 137, 963]]);
      expect(await fetch([item({ from: iso(0, 12), to: iso(1, 12), amount: 5 })])).toMatchObject({
        billed: 0,
        held: 1,
      });
      expect(await fetch([item({ from: iso(0, 1), to: iso(0, 2), amount: 5 })])).toMatchObject({ billed: 0, held: 1 });
      expect(await totals()).toEqual([['USD', 1_100, 137, 963]]);
      expect(await reader.sumHeld({})).toEqual([
        { provider: 'kv', currency: 'USD', reason: 'overlap', items: 2, amount: 10 },
      ]);
      // The longer one counts in one answer.
      const both = [item({ description: 'x', from: iso(0, 3), to: iso(0, 4) }), item({ description: 'x', amount: 9 })];
      expect(await fetch(both)).toEqual({ billed: 1, held: 1, refused: 0 });
      expect((await reader.sumLines('e1', {}))[0]?.amount).toBe(1_109);
    },
  );

  test.skipIf(skip)('what is not an extension of the provider is held, and billed when it becomes one', async () => {
    const { storage, fetch, totals, reader, registration, acme } = await open();
    await registration.create({ name: 'other', base_url: 'https://other.example' });
    await insertExtension(storage, { id: 'e2', provider: 'other', provider_id: 'p2', organization_id: acme.id });
    expect(await fetch([item({ extension_id: 'p2' }), item({ extension_id: 'p3' })])).toEqual({
      billed: 0,
      held: 2,
      refused: 0,
    });
    expect(await totals()).toEqual([]);
    expect(await reader.sumHeld({})).toMatchObject([{ reason: 'unknown_extension', items: 2, amount: 2_000 }]);
    await insertExtension(storage, { id: 'e3', provider: 'kv', provider_id: 'p3', organization_id: acme.id });
    await fetch([item({ extension_id: 'p3' })]);
    expect(await totals()).toEqual([['USD', 1_000, 125, 875]]);
    // What it cost last is told after its end, when its record may be gone.
    await storage.run("DELETE FROM extensions WHERE id = 'e3'");
    await fetch([item({ extension_id: 'p3', from: iso(1), to: iso(2) })]);
    expect(await totals()).toEqual([['USD', 2_000, 250, 1_750]]);
  });

  test.skipIf(skip)('items that cannot be read are refused by themselves, and held ones have a bound', async () => {
    const { fetch, totals, storage } = await open();
    const wrong = [
      null,
      [],
      item({ amount: 1.5 }),
      item({ amount: '7' }),
      item({ amount: 1e12 }),
      item({ currency: 'usd' }),
      item({ from: iso(1), to: iso(0) }),
      item({ from: iso(-1_000), to: iso(-999) }),
      item({ extension_id: 'p'.repeat(201) }),
      item({ extension_id: 'p\u0000' }),
      item({ description: undefined }),
    ];
    expect(await fetch([...wrong, item({ description: `\u0000\u001b[31m=1+1${'x'.repeat(500)}` })])).toEqual({
      billed: 1,
      held: 0,
      refused: wrong.length,
    });
    expect(await totals()).toEqual([['USD', 1_000, 125, 875]]);
    const [{ description } = { description: '' }] = await storage.all<{ description: string }>(
      'SELECT description FROM extension_costs',
    );
    expect(description).toMatch(/^\[31m=1\+1x{100,200}$/);
    const many = Array.from({ length: HELD_MAX + 5 }, (_, index) => item({ extension_id: `u${index}` }));
    expect(await fetch(many)).toEqual({ billed: 0, held: HELD_MAX, refused: 5 });
  });

  test.skipIf(skip)('an answer that is no list of items is refused as a whole', async () => {
    const { fetch, totals } = await open();
    for (const body of ['', '{', '[]', '{"items":{}}', '{"items":1}', `{"items":${'['.repeat(5_000)}`]) {
      await expect(fetch(body)).rejects.toThrow(/its answer/);
    }
    await expect(fetch(Array.from({ length: 10_001 }, () => 0))).rejects.toThrow('10000 items');
    await expect(fetch(`{"items":["${'x'.repeat(2_200_000)}"]}`)).rejects.toThrow('too long');
    expect(await totals()).toEqual([]);
  });

  test.skipIf(skip)('a bill with as many names of fields as it can hold does not hold the platform', async () => {
    const { fetch } = await open();
    const fields = Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`);
    const items = Array.from({ length: 10_000 }, (_, index) => `{${fields.slice(10 * index, 10 * index + 10)}}`);
    const body = `{"items":[${items}]}`;
    const longest_ms = await findLongestTurn_ms(50, async () =>
      expect(await fetch(body)).toEqual({ billed: 0, held: 0, refused: 10_000 }),
    );
    expect(longest_ms).toBeLessThanOrEqual(50);
  });

  test.skipIf(skip)(
    'a provider is asked by one process at a time, again after a failure, and not before its time',
    async () => {
      const { storage, server, providers } = await open();
      let now_ms = Date.now();
      const clock = { wall_ms: () => now_ms, mono_ms: systemClock.mono_ms };
      const fetches = createCostFetches(storage);
      const gate = Promise.withResolvers<void>();
      const calls: number[] = [];
      let isBroken = true;
      const rounds = createCostRounds({
        fetches,
        async fetchDay(_, day) {
          calls.push(day);
          await gate.promise;
          if (isBroken) throw new Error('broken');
          return { billed: 1, held: 0, refused: 0 };
        },
        clock,
        log: { warn: () => undefined },
      });
      const provider = await providers.find('kv');
      if (provider === undefined) throw new Error(`there is no provider at ${server.base_url}`);
      const { signal } = new AbortController();
      expect(await fetches.listDue(now_ms)).toEqual(['kv']);
      const first = rounds.run(provider, false, signal);
      await soon(() => expect(calls).toHaveLength(1));
      await expect(rounds.run(provider, true, signal)).rejects.toMatchObject({ code: 'conflict' });
      gate.resolve();
      await expect(first).rejects.toThrow('broken');
      expect(await fetches.find('kv')).toMatchObject({ failures: 1, last_error: 'it could not be asked' });
      expect(await fetches.listDue(now_ms)).toEqual([]);
      now_ms += 61_000;
      expect(await fetches.listDue(now_ms)).toEqual(['kv']);
      isBroken = false;
      expect(await rounds.run(provider, false, signal)).toEqual({ billed: 1, held: 0, refused: 0 });
      expect((await fetches.nextAt()) ?? 0).toBeLessThan(now_ms + DAY_MS);
      expect(await fetches.find('kv')).toMatchObject({ failures: 0, last_error: null, last_success_at: now_ms });
      // A round that takes long keeps its claim.
      now_ms += DAY_MS;
      const slow = createCostRounds({
        fetches,
        async fetchDay() {
          now_ms += 200_000;
          expect(await fetches.claim('kv', now_ms, now_ms + 1)).toBe(false);
          return { billed: 1, held: 0, refused: 0 };
        },
        clock,
        log: { warn: () => undefined },
      });
      await slow.run({ ...provider, created_at: now_ms - 5 * DAY_MS }, false, signal);
      // A killed process leaves its claim, which ends.
      now_ms += DAY_MS;
      expect(await fetches.claim('kv', now_ms, now_ms + 300_000)).toBe(true);
      expect(await fetches.claim('kv', now_ms, now_ms + 300_000)).toBe(false);
      now_ms += 301_000;
      expect(await fetches.listDue(now_ms)).toEqual(['kv']);
      // So do a claim, and a round of success, when the clock is set back.
      expect(await fetches.claim('kv', now_ms, now_ms + 300_000)).toBe(true);
      now_ms -= 3 * DAY_MS;
      expect(await fetches.listDue(now_ms)).toEqual(['kv']);
      expect(await rounds.run(provider, true, signal)).toMatchObject({ billed: 1 });
      expect(await fetches.listDue(now_ms)).toEqual([]);
      now_ms -= 3 * DAY_MS;
      expect(await rounds.run(provider, false, signal)).toMatchObject({ billed: 1 });
    },
  );
});

test('the days are those that may still change, and at most thirty-five', () => {
  const now = DAY + 5 * DAY_MS + 7_000;
  const days = (from: number, since = 0) => toCostDays(from, since, now).days.map((day) => (day - DAY) / DAY_MS);
  expect(days(DAY + 3 * DAY_MS)).toEqual([3, 4, 5]);
  expect(toCostDays(0, now, now)).toEqual({ days: [DAY + 5 * DAY_MS], unsettled_from: DAY + 3 * DAY_MS });
  expect(days(0, DAY + 4 * DAY_MS + 1)).toEqual([4, 5]);
  expect(days(0)).toHaveLength(36);
  // What a clock that was set back has settled is asked for again.
  expect(days(DAY + 9 * DAY_MS)).toEqual([3, 4, 5]);
});

test('a share is a whole number of minor units, and a credit undoes a charge', () => {
  expect([0, 1, 7, 8, 999, 100_000_000_000].map((amount) => toShare(amount, 1_250))).toEqual([
    0, 0, 0, 1, 124, 12_500_000_000,
  ]);
  expect(toShare(-999, 1_250)).toBe(-124);
  expect(toShare(999, 10_000)).toBe(999);
  expect(toShare(999, 0)).toBe(0);
});

test('a cell of CSV that a spreadsheet would take for a formula is quoted', () => {
  const total = { provider: 'kv', currency: 'USD', items: 1, amount: -5, share: 0, payout: -5 };
  const names = ['=1+1', '+1', '-1', '@x', '\tx', 'a,"b"', 'plain'];
  const lines = toCostCsv(names.map((organization) => ({ ...total, organization }))).split('\r\n');
  expect(lines.map((line) => line.split('kv,')[1]?.split(',USD')[0])).toEqual([
    undefined,
    '"\'=1+1"',
    '"\'+1"',
    '"\'-1"',
    '"\'@x"',
    '"\'\tx"',
    '"a,""b"""',
    'plain',
    undefined,
  ]);
  expect(lines[1]).toMatch(/,1,-5,0,-5$/);
});

test('the operator and the organization read what extensions cost, and nobody else does', async () => {
  const platform = await openTestPlatform();
  const server = await startTestProvider();
  const run = (...words: string[]) => runHere(['platform', ...words, '--dir', platform.dir]);
  const made = await run(
    'extension-provider',
    'create',
    'kv',
    '--base-url',
    server.base_url,
    '--revenue-share',
    '12.5',
    '--json',
  );
  const { provisioning_secret } = JSON.parse(made.out);
  server.trust(new (await import('../../../src/core/secret.ts')).Secret(provisioning_secret));
  expect(JSON.parse(made.out).revenue_share_bp).toBe(1_250);
  const organizations = await platform.admin.listOrganizations();
  const organization_id = organizations.find(({ slug }) => slug === 'acme')?.id ?? '';
  await withStorage(platform.dir, (storage) =>
    insertExtension(storage, { id: 'e1', provider: 'kv', provider_id: 'p1', organization_id }),
  );
  const today = new Date().toISOString().slice(0, 10);
  const begin = Date.parse(today);
  const period = { from: new Date(begin).toISOString(), to: new Date(begin + DAY_MS).toISOString() };
  server.answer(() => ({
    status: 200,
    body: JSON.stringify({ items: [item(period), item({ ...period, extension_id: 'p9' })] }),
  }));
  expect(JSON.parse((await run('costs', 'fetch', 'kv', '--json')).out)).toEqual({ billed: 1, held: 1, refused: 0 });
  expect((await run('costs', 'fetch', 'nobody')).err).toContain('not_found');
  const listed = JSON.parse((await run('costs', 'list', '--customer', 'acme', '--json')).out);
  const total = {
    provider: 'kv',
    organization: 'acme',
    currency: 'USD',
    items: 1,
    amount: 1_000,
    share: 125,
    payout: 875,
  };
  expect(listed).toMatchObject({
    totals: [total],
    held: [{ provider: 'kv', reason: 'unknown_extension', items: 1 }],
    fetches: [{ provider: 'kv', last_error: null, failures: 0 }],
  });
  expect((await run('costs', 'list', '--csv')).out).toBe(
    'provider,organization,currency,items,amount,share,payout\nkv,acme,USD,1,1000,125,875',
  );
  expect(JSON.parse((await run('costs', 'list', '--until', '2020-01-01', '--json')).out).totals).toEqual([]);
  const { json } = await platform.call({ path: `/v1/extensions/e1/costs?since=${today}` });
  expect(json).toMatchObject({
    items: [{ ...period, amount: 1_000, currency: 'USD', description: 'storage' }],
    totals: [{ currency: 'USD', amount: 1_000 }],
  });
  const shown = await runHere([
    'platform',
    'extension',
    'costs',
    'e1',
    '--dir',
    platform.dir,
    '--organization',
    'acme',
    '--json',
  ]);
  expect(JSON.parse(shown.out)).toEqual({ items: json.items, totals: json.totals });
  await platform.admin.createOrganization('other');
  const token = await platform.admin.createToken({ organization: 'other' });
  expect((await platform.call({ path: '/v1/extensions/e1/costs', token })).status).toBe(404);
  expect((await platform.call({ path: '/v1/extension-costs' })).status).toBe(403);
});

async function withStorage<T>(dir: string, work: (storage: Storage) => Promise<T>): Promise<T> {
  const { openStorage } = await import('../../../src/platform/storage/open-storage.ts');
  await using storage = await openStorage(dir, undefined);
  return await work(storage);
}
