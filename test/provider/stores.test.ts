// The stores of the kit, in memory and in SQLite alike: claims, answers, what is gone, and webhooks in order.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import {
  createMemoryOutbox,
  createMemoryResources,
  createNonceBook,
  type Outbox,
  openSqliteStore,
  type ResourceBook,
} from '../../src/provider/index.ts';
import { createSqliteOutbox } from '../../src/provider/store/sqlite-outbox.ts';
import { openDatabase } from '../../src/sqlite/open.ts';
import { atEnd } from '../support/at-end.ts';
import { callSigned, openKitProvider, provisioning } from '../support/kit-provider.ts';
import { tempDir } from '../support/temp-dir.ts';

const sealKey = new Secret('k'.repeat(32));

async function openSqlite(path = join(tempDir(), 'kit.db')) {
  const store = await openSqliteStore({ path, sealKey });
  atEnd(() => store[Symbol.dispose]());
  return store;
}

const openMemory = async () => ({
  nonces: createNonceBook(),
  resources: createMemoryResources(),
  outbox: createMemoryOutbox(),
});

const resource = (extension_id: string, resource_id: string) => ({
  extension_id,
  resource_id,
  organization_id: 'org_1',
  answer: { id: resource_id, config: { KEY: 'hidden' } },
});

describe.each([
  ['memory', openMemory],
  ['SQLite', openSqlite],
])('%s', (_name, open) => {
  it('a nonce is used once, until it is forgotten', async () => {
    const { nonces } = await open();
    expect([await nonces.use('a', 1), await nonces.use('a', 2), await nonces.use('b', 9)]).toEqual([true, false, true]);
    await nonces.forget(5);
    expect([await nonces.use('a', 9), await nonces.use('b', 9)]).toEqual([true, false]);
  });

  it('one call has an extension at a time, until it releases it or its time is over', async () => {
    const { resources } = await open();
    const claim = (holder: string, now_ms: number) => ({ extension_id: 'e1', holder, now_ms, until_ms: now_ms + 10 });
    expect(await resources.claim(claim('one', 0))).toBe(true);
    expect(await resources.claim(claim('two', 5))).toBe(false);
    expect(await resources.claim({ ...claim('two', 5), extension_id: 'e2' })).toBe(true);
    await resources.release(claim('two', 5));
    expect(await resources.claim(claim('two', 6))).toBe(false);
    await resources.release(claim('one', 6));
    expect(await resources.claim(claim('two', 7))).toBe(true);
    expect(await resources.claim(claim('two', 12))).toBe(true);
    expect(await resources.claim(claim('three', 17))).toBe(false);
    expect(await resources.claim(claim('three', 22))).toBe(true);
    // Its time was over: it has nothing to release.
    await resources.release(claim('two', 22));
    expect(await resources.claim(claim('four', 23))).toBe(false);
    expect(await resources.read('e1')).toBeUndefined();
  });

  it('a claim, and a webhook that waits, end when the clock is set back', async () => {
    const { resources, outbox } = await open();
    const claim = (holder: string, now_ms: number) => ({ extension_id: 'e1', holder, now_ms, until_ms: now_ms + 10 });
    expect(await resources.claim(claim('killed', 1_000))).toBe(true);
    expect(await resources.claim(claim('two', 990))).toBe(false);
    expect(await resources.claim(claim('two', 500))).toBe(true);
    expect(await resources.claim(claim('three', 505))).toBe(false);
    const DAY_MS = 86_400_000;
    await outbox.add({ action: 'resource.updated', resource: { id: 'a' } }, DAY_MS);
    const [waiting] = await outbox.take(DAY_MS, DAY_MS + 60_000, 8);
    await outbox.putOff(waiting?.id ?? 0, DAY_MS + 300_000);
    expect(await outbox.take(DAY_MS, DAY_MS + 60_000, 8)).toEqual([]);
    expect((await outbox.take(1_000, 61_000, 8)).map(({ id, tries }) => [id, tries])).toEqual([[waiting?.id, 1]]);
  });

  it('an extension is read by the id of the platform, and found by either', async () => {
    const { resources } = await open();
    await resources.write(resource('e1', 'p1'));
    // A provider may choose an id that the platform has given to another one.
    await resources.write(resource('e2', 'e1'));
    expect(await resources.read('e1')).toEqual(resource('e1', 'p1'));
    expect(await resources.read('p1')).toBeUndefined();
    expect(await resources.find('p1')).toEqual(resource('e1', 'p1'));
    expect(await resources.find('e1')).toEqual(resource('e2', 'e1'));
    expect(await resources.find('e2')).toEqual(resource('e2', 'e1'));
    await resources.write(resource('e1', 'p9'));
    expect(await resources.find('p1')).toBeUndefined();
    expect(await resources.find('p9')).toEqual(resource('e1', 'p9'));
  });

  it('what is gone stays known for a while, also what never was', async () => {
    const { resources } = await open();
    await resources.write(resource('e1', 'p1'));
    await resources.end('e1', 100);
    await resources.end('e2', 200);
    const look = async () => [await resources.read('e1'), await resources.find('p1'), await resources.find('e2')];
    expect(await look()).toEqual(['gone', 'gone', 'gone']);
    await resources.forget(200);
    expect(await look()).toEqual([undefined, undefined, 'gone']);
  });

  it('webhooks come in order for each resource, and again after their time', async () => {
    const { outbox } = await open();
    const add = (id: string, status: string) => outbox.add({ action: 'resource.updated', resource: { id, status } }, 1);
    for (const [id, status] of ['a1', 'a2', 'b1', 'a3'].map((text) => text.split('')))
      await add(id ?? '', status ?? '');
    const take = async (now_ms: number, limit = 9) =>
      (await outbox.take(now_ms, now_ms + 10, limit)).map(({ id, notice, tries }) => {
        return { id, what: `${notice.resource.id}${notice.resource.status}`, tries };
      });
    const [a1, b1] = await take(5);
    expect([a1?.what, b1?.what]).toEqual(['a1', 'b1']);
    expect(await take(5)).toEqual([]);
    expect(await outbox.nextDue_ms()).toBe(15);
    await outbox.putOff(b1?.id ?? 0, 1_000);
    await outbox.done(a1?.id ?? 0);
    expect((await take(6)).map(({ what }) => what)).toEqual(['a2']);
    // Nobody said that it was done: its process has ended.
    expect((await take(16, 1)).map(({ what }) => what)).toEqual(['a2']);
    expect((await take(1_000)).map(({ what, tries }) => [what, tries])).toContainEqual(['b1', 1]);
  });
});

it.each<[string, (max: number) => Outbox]>([
  ['memory', (max) => createMemoryOutbox({ max })],
  [
    'SQLite',
    (max) => {
      const migrations = [
        'CREATE TABLE notices (id INTEGER PRIMARY KEY AUTOINCREMENT, resource_id TEXT, notice TEXT, added_ms INTEGER, tries INTEGER DEFAULT 0, due_ms INTEGER)',
      ];
      return createSqliteOutbox(openDatabase(join(tempDir(), 'outbox.db'), { migrations }).db, { max });
    },
  ],
])('an outbox in %s says that it is full', async (_name, open) => {
  const outbox = open(2);
  const add = async () => await outbox.add({ action: 'resource.deleted', resource: { id: 'a' } }, 1);
  await add();
  await add();
  await expect(add()).rejects.toMatchObject({ code: 'limit_reached' });
});

describe('SQLite', () => {
  it('keeps all of it across a restart, and no secret in plain text', async () => {
    const path = join(tempDir(), 'kit.db');
    const before = await openSqliteStore({ path, sealKey });
    before.nonces.use('n', 1);
    before.resources.write(resource('e1', 'p1'));
    before.outbox.add({ action: 'resource.created', resource: { id: 'p1' } }, 1);
    before[Symbol.dispose]();
    expect(readFileSync(path).includes('hidden')).toBe(false);
    const after = await openSqlite(path);
    expect(after.nonces.use('n', 2)).toBe(false);
    expect(after.resources.read('e1')).toEqual(resource('e1', 'p1'));
    expect(await after.outbox.take(2, 3, 1)).toHaveLength(1);
  });

  it('opens no answer in the place of another one', async () => {
    const path = join(tempDir(), 'kit.db');
    const store = await openSqlite(path);
    for (const name of ['1', '2']) store.resources.write(resource(`e${name}`, `p${name}`));
    const db = new Database(path);
    db.exec(`UPDATE resources SET sealed_answer = (SELECT sealed_answer FROM resources WHERE extension_id = 'e1')`);
    db.close();
    expect(store.resources.read('e1')).toEqual(resource('e1', 'p1'));
    expect(() => store.resources.read('e2')).toThrow();
  });

  it('opens no answer with another key', async () => {
    const path = join(tempDir(), 'kit.db');
    (await openSqlite(path)).resources.write(resource('e1', 'p1'));
    const other = await openSqliteStore({ path, sealKey: new Secret('x'.repeat(32)) });
    atEnd(() => other[Symbol.dispose]());
    expect(() => other.resources.read('e1')).toThrow();
    await expect(openSqliteStore({ path, sealKey: new Secret('short') })).rejects.toThrow('fewer than 32');
  });
});

describe.each<[string, () => Promise<readonly [Kept, Kept]>]>([
  [
    'two handlers on one memory',
    async () => {
      const store = await openMemory();
      return [store, store];
    },
  ],
  [
    'two on one SQLite file, as two processes are',
    async () => {
      const path = join(tempDir(), 'kit.db');
      return [await openSqlite(path), await openSqlite(path)];
    },
  ],
])('provisioning once: %s', (_name, open) => {
  it('requests at once make one resource and read one answer; a removal waits for it, and nothing brings it back', async () => {
    const [one, two] = await open();
    const log: string[] = [];
    const provision = async ({ id }: { id: string }) => {
      log.push(`begin ${id}`);
      await new Promise((resolve) => setTimeout(resolve, 120));
      log.push(`end ${id}`);
      return { id: `p-${id}`, config: { KEY: String(log.length) } };
    };
    const remove = (id: string) => void log.push(`remove ${id}`);
    const first = await openKitProvider({ store: one, provision, remove });
    const second = await openKitProvider({ store: two, provision, remove });
    const post = { method: 'POST', path: '/extensions', body: provisioning('e1') };
    const answers = await Promise.all([first.call(post), second.call(post), first.call(post), second.call(post)]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: 200, json: { id: 'p-e1', config: { KEY: '2' } } });
    }
    expect(log).toEqual(['begin e1', 'end e1']);

    const late = first.call({ ...post, body: provisioning('e2') });
    await expect.poll(() => log).toContain('begin e2');
    const removed = await second.call({ method: 'DELETE', path: '/extensions/e2' });
    expect([(await late).status, removed.status]).toEqual([200, 204]);
    expect(log.slice(-2)).toEqual(['end e2', 'remove p-e2']);
    expect((await second.call({ ...post, body: provisioning('e2') })).status).toBe(410);
  });

  it('a call that failed is made again, and one whose process was killed after its time', async () => {
    const [one, two] = await open();
    let isBroken = true;
    const provision = ({ id }: { id: string }) => {
      if (isBroken) throw new Error('no room');
      return { id, config: {} };
    };
    const { baseUrl } = await openKitProvider({ store: one, provision, limit_ms: 200 });
    const post = { method: 'POST', path: '/extensions', body: provisioning('e1') };
    expect((await callSigned(baseUrl, post)).status).toBe(500);
    isBroken = false;
    const now_ms = Date.now();
    await two.resources.claim({ extension_id: 'e1', holder: 'killed', now_ms, until_ms: now_ms + 2_000 });
    expect((await callSigned(baseUrl, post)).status).toBe(503);
    await expect.poll(async () => (await callSigned(baseUrl, post)).status, { interval: 50 }).toBe(200);
  });
});

interface Kept {
  readonly nonces: ReturnType<typeof createNonceBook>;
  readonly resources: ResourceBook;
}
