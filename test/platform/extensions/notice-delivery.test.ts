// How notices are delivered: in order, again until they are taken, to each provider by itself, by one process at a time, and not for ever.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { createExtensionProviders } from '../../../src/platform/extension-providers/extension-providers.ts';
import { createProviderRegistration } from '../../../src/platform/extension-providers/provider-registration.ts';
import {
  createNoticeSender,
  NOTICES_KEPT,
  STREAMS_AT_ONCE,
} from '../../../src/platform/machine-notices/notice-sender.ts';
import { createNoticeStore } from '../../../src/platform/machine-notices/notice-store.ts';
import { createNoticeWorker } from '../../../src/platform/machine-notices/notice-worker.ts';
import { openSignedCalls } from '../../../src/platform/provider-calls/open-signed-calls.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { createVault } from '../../../src/platform/vault/vault.ts';
import { atEnd } from '../../support/at-end.ts';
import { type ProviderRequest, startTestProvider } from '../../support/extension-provider.ts';
import { TEST_KEY } from '../../support/open-platform.ts';
import { soon } from '../../support/soon.ts';
import { toTestStorages } from '../../support/test-storages.ts';

const DAY_MS = 86_400_000;
const vault = createVault([TEST_KEY]);

/** A provider that is registered on the storage, and a real server for it. */
async function register(storage: Storage, name: string) {
  const server = await startTestProvider();
  const registration = createProviderRegistration({ storage, vault, clock: systemClock });
  const { secrets } = await registration.create({ name, base_url: server.base_url });
  server.trust(secrets.provisioning);
  return server;
}

/** One platform process on the storage, as far as notices go. Its wall clock is the real one, and `pass` moves it. */
function openProcess(storage: Storage) {
  let passed_ms = 0;
  const clock = { wall_ms: () => Date.now() + passed_ms, mono_ms: systemClock.mono_ms };
  const lines: string[] = [];
  const keep = (fields: object, message: string) => lines.push(JSON.stringify({ ...fields, message }));
  const log = { error: keep, warn: keep };
  const providers = createExtensionProviders({ sql: storage, vault, clock });
  // Requests carry the real time, which the provider compares with its own.
  const calls = openSignedCalls(providers, systemClock);
  const store = createNoticeStore(storage);
  const send = createNoticeSender({ store, providers, call: calls.call, clock, random: () => 0.5, log });
  const worker = createNoticeWorker({ store, send, clock, log });
  atEnd(async () => {
    await worker[Symbol.asyncDispose]();
    await calls[Symbol.asyncDispose]();
  });
  return { store, worker, lines, clock, pass: (ms: number) => (passed_ms += ms) };
}

async function add(
  storage: Storage,
  provider: string,
  stream: string,
  event_id: string,
  at = Date.now(),
): Promise<void> {
  const body = JSON.stringify({ machine_id: stream, status: 'stopped', data: {} });
  await storage.run(
    `INSERT INTO provider_notices (provider, stream, event_id, source, type, body, created_at, next_at)
     VALUES ($1, $2, $3, '/v1/x', 'io.remora.machine.stopped', $4, $5, $5)`,
    [provider, stream, event_id, body, at],
  );
}

const idsOf = (requests: readonly ProviderRequest[]) => requests.map(({ event }) => event?.id);

describe.each(toTestStorages())('on $name', ({ skip, start, end, create }) => {
  beforeAll(start);
  afterAll(end);

  async function openStorage(): Promise<Storage> {
    const storage = await (await create())();
    atEnd(() => storage[Symbol.asyncDispose]());
    return storage;
  }

  test.skipIf(skip)(
    'a notice that is not taken comes again with the same id, and those behind it wait for it',
    async () => {
      const storage = await openStorage();
      const provider = await register(storage, 'kv');
      const { store, worker } = openProcess(storage);
      let refusals = 2;
      provider.answer(({ event }) => (event?.id === 'a-1' && refusals-- > 0 ? { status: 500 } : { status: 200 }));
      for (const id of ['a-1', 'a-2', 'b-1']) await add(storage, 'kv', id.slice(0, 1), id);
      worker.wake();
      await soon(() => expect(provider.events).toHaveLength(5));
      const ofA = provider.requests.filter(({ event }) => event?.id.startsWith('a'));
      expect(idsOf(ofA)).toEqual(['a-1', 'a-1', 'a-1', 'a-2']);
      // The other machine did not wait, and each try is signed by itself.
      expect(idsOf(provider.requests).indexOf('b-1')).toBeLessThan(2);
      expect(new Set(ofA.map(({ headers }) => headers['x-signature'])).size).toBe(4);
      expect(new Set(ofA.map(({ event }) => event?.time)).size).toBeLessThanOrEqual(2);
      await soon(async () =>
        expect(await store.totals('kv')).toMatchObject({ delivered: 3, last_error: 'it answered 500' }),
      );
      expect(await store.countWaiting('kv')).toBe(0);
      expect(provider.refused()).toBe(0);
    },
  );

  test.skipIf(skip)('nothing is sent before the time that the provider asks for', async () => {
    const storage = await openStorage();
    const provider = await register(storage, 'kv');
    const { store, worker, pass, clock } = openProcess(storage);
    provider.answer(() => ({ status: 503, headers: { 'retry-after': '120' } }));
    await add(storage, 'kv', 'a', 'a-1');
    worker.wake();
    await soon(async () => expect((await store.totals('kv')).paused_until).toBeGreaterThan(Date.now() + 100_000));
    await add(storage, 'kv', 'b', 'b-1');
    expect(await store.listDue(clock.wall_ms())).toEqual([]);
    pass(121_000);
    expect(await store.listDue(clock.wall_ms())).toEqual(['kv']);
    provider.answer(() => ({ status: 204 }));
    worker.wake();
    await soon(async () => expect((await store.totals('kv')).delivered).toBe(2));
    expect(idsOf(provider.requests).sort()).toEqual(['a-1', 'a-1', 'b-1']);
  });

  test.skipIf(skip)('what waits, and the pause that a provider asked for, end when the clock is set back', async () => {
    const storage = await openStorage();
    const provider = await register(storage, 'kv');
    const { store, worker, pass, clock } = openProcess(storage);
    pass(DAY_MS / 2);
    provider.answer(() => ({ status: 503, headers: { 'retry-after': '120' } }));
    await add(storage, 'kv', 'a', 'a-1');
    worker.wake();
    await soon(async () => expect((await store.totals('kv')).paused_until).toBeGreaterThan(clock.wall_ms() + 100_000));
    pass(-DAY_MS / 2);
    await add(storage, 'kv', 'a', 'a-2');
    await add(storage, 'kv', 'b', 'b-1');
    provider.answer(() => ({ status: 204 }));
    worker.wake();
    await soon(async () => expect((await store.totals('kv')).delivered).toBe(3));
    expect(idsOf(provider.requests).filter((id) => id?.startsWith('a'))).toEqual(['a-1', 'a-1', 'a-2']);
  });

  test.skipIf(skip)('a slow provider delays no other one, and gets a few at a time', async () => {
    const storage = await openStorage();
    const slow = await register(storage, 'slow');
    await register(storage, 'fast');
    const { store, worker } = openProcess(storage);
    const hanging = Promise.withResolvers<{ status: number }>();
    slow.answer(() => hanging.promise);
    for (let machine = 0; machine < 10; machine += 1) {
      await add(storage, 'slow', `s${machine}`, `s${machine}-1`);
      await add(storage, 'fast', `f${machine}`, `f${machine}-1`);
    }
    worker.wake();
    await soon(async () => expect((await store.totals('fast')).delivered).toBe(10));
    await soon(() => expect(slow.requests).toHaveLength(STREAMS_AT_ONCE));
    hanging.resolve({ status: 204 });
    await soon(async () => expect((await store.totals('slow')).delivered).toBe(10));
    expect(new Set(idsOf(slow.requests)).size).toBe(10);
  });

  test.skipIf(skip)('two processes send each notice once, and in order', async () => {
    const storage = await openStorage();
    const provider = await register(storage, 'kv');
    const [one, other] = [openProcess(storage), openProcess(storage)];
    provider.answer(async () => {
      await sleep(2);
      return { status: 204 };
    });
    const ids = Array.from({ length: 40 }, (_, index) => `m${index % 5}-${Math.floor(index / 5)}`);
    for (const id of ids) await add(storage, 'kv', id.slice(0, 2), id);
    one.worker.wake();
    other.worker.wake();
    await soon(async () => expect((await one.store.totals('kv')).delivered).toBe(40));
    const sent = idsOf(provider.requests);
    for (let machine = 0; machine < 5; machine += 1) {
      const mark = `m${machine}`;
      expect(sent.filter((id) => id?.startsWith(mark))).toEqual(ids.filter((id) => id.startsWith(mark)));
    }
  });

  test.skipIf(skip)('what a process had taken that was killed is sent by another one', async () => {
    const storage = await openStorage();
    const provider = await register(storage, 'kv');
    await add(storage, 'kv', 'a', 'a-1');
    const { store, worker, pass, clock } = openProcess(storage);
    // The killed one had claimed it, and nothing more.
    expect(await store.claim('kv', 4, clock.wall_ms(), clock.wall_ms() + 60_000)).toHaveLength(1);
    await add(storage, 'kv', 'a', 'a-2');
    worker.wake();
    expect(await store.claim('kv', 4, clock.wall_ms(), clock.wall_ms() + 60_000)).toEqual([]);
    pass(61_000);
    worker.wake();
    await soon(() => expect(idsOf(provider.requests)).toEqual(['a-1', 'a-2']));
  });

  test.skipIf(skip)('a notice is given up after a day, and too many are not kept; both are told', async () => {
    const storage = await openStorage();
    const provider = await register(storage, 'kv');
    provider.answer(() => ({ status: 500 }));
    const { store, worker, lines } = openProcess(storage);
    const now = Date.now();
    await storage.transaction(async (sql) => {
      for (let count = 0; count < NOTICES_KEPT + 7; count += 1) {
        await add(sql as Storage, 'kv', 'a', `a-${count}`, now);
      }
    });
    await add(storage, 'kv', 'b', 'b-old', now - DAY_MS - 1);
    worker.wake();
    await soon(async () => expect(await store.totals('kv')).toMatchObject({ dead: 1, dropped: 7 }));
    expect(await store.countWaiting('kv')).toBe(NOTICES_KEPT);
    await soon(() => expect(lines.join()).toContain('did not take notices for a day'));
    await soon(() => expect(lines.join()).toContain('too many notices wait'));
    await soon(() => expect(idsOf(provider.requests)[0]).toBe('a-7'));
  });
});

test('the wait doubles up to ten minutes', async () => {
  const { toDelay, toPause } = await import('../../../src/platform/machine-notices/notice-delay.ts');
  expect([0, 1, 5, 9, 10, 1e6].map((attempts) => toDelay(attempts, 0))).toEqual([
    1_000, 2_000, 32_000, 512_000, 600_000, 600_000,
  ]);
  expect(toDelay(1, 0.999)).toBeGreaterThanOrEqual(1_000);
  expect([undefined, -5, 90_000, 1e9].map(toPause)).toEqual([undefined, 0, 90_000, 3_600_000]);
});
