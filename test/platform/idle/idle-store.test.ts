// What is kept about machines without work, on both databases: what several platform processes may do once is done once.
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createIdleStore } from '../../../src/platform/idle/idle-store.ts';
import { createMachineStore } from '../../../src/platform/machines/records/machine-store.ts';
import { createOrganizationStore } from '../../../src/platform/organizations/organization-store.ts';
import { createSpriteStore } from '../../../src/platform/sprites/sprite-store.ts';
import type { Storage } from '../../../src/platform/storage/storage.ts';
import { toTestStorages } from '../../support/test-storages.ts';

describe.each(toTestStorages())('$name', ({ skip, start, end, create }) => {
  beforeAll(start);
  afterAll(end);

  async function openStorage(): Promise<Storage> {
    const storage = await (await create())();
    onTestFinished(() => storage[Symbol.asyncDispose]());
    return storage;
  }

  test.skipIf(skip)('one machine of an app and region in a round, whichever host asks', async () => {
    const storage = await openStorage();
    const [one, other] = [createIdleStore(storage, 'h1'), createIdleStore(storage, 'h2')];
    expect(await one.lastRound('shop', 'local')).toBeUndefined();
    const begun = await Promise.all([one, other].map((store) => store.beginRound('shop', 'local', 1_000, 300)));
    expect(begun.sort()).toEqual([false, true]);
    expect(await other.beginRound('shop', 'away', 1_000, 300)).toBe(true);
    expect(await other.beginRound('shop', 'local', 1_299, 300)).toBe(false);
    expect(await other.beginRound('shop', 'local', 1_300, 300)).toBe(true);
    await one.undoRound('shop', 'local', 1_000);
    expect(await one.lastRound('shop', 'local')).toBe(1_300);
    await one.undoRound('shop', 'local', 1_300);
    expect(await one.beginRound('shop', 'local', 1_301, 300)).toBe(true);
    // A clock that was set back keeps no machine awake.
    expect(await one.beginRound('shop', 'local', 500, 300)).toBe(true);
  });

  test.skipIf(skip)('lists the machines of this host, by what they are and how long they sleep', async () => {
    const storage = await openStorage();
    const organization = await createOrganizationStore(storage).create('acme', 1);
    const [sprites, machines] = [createSpriteStore(storage), createMachineStore(storage)];
    const sleeps = JSON.stringify({ http_service: { auto_stop_machines: 'suspend' } });
    async function add(id: string, host: string, state: string, machine_only: boolean, since: number, config = '{}') {
      const given = {
        organization_id: organization.id,
        name: id,
        labels: [],
        url_settings: { auth: 'sprite' },
      } as const;
      const sprite = await sprites.insert({ ...given, machine_only }, 1);
      const place = { app: 'acme', organization_id: organization.id, sprite_id: sprite?.id ?? '', region: 'local' };
      await machines.insert({ id, name: id, ...place, private_ip: '', config: {} }, 1);
      const text = 'UPDATE machines SET host = $1, state = $2, state_since = $3, config = $4 WHERE id = $5';
      await storage.run(text, [host, state, since, config, id]);
    }
    await add('s1', 'h1', 'running', false, 10);
    await add('s2', 'h1', 'running', false, 10);
    await add('s3', 'h2', 'running', false, 10);
    await add('w1', 'h1', 'suspended', false, 20);
    await add('w2', 'h1', 'suspended', false, 15);
    await add('w3', 'h1', 'suspended', true, 5);
    await add('a1', 'h1', 'running', true, 10, sleeps);
    await add('a2', 'h1', 'starting', true, 10, sleeps);
    await add('a3', 'h2', 'running', true, 10, sleeps);
    await add('a4', 'h1', 'running', true, 10);
    const store = createIdleStore(storage, 'h1');
    const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id).sort();
    expect(await store.listRunningSprites('', 10)).toEqual(['s1', 's2']);
    expect([await store.listRunningSprites('', 1), await store.listRunningSprites('s1', 1)]).toEqual([['s1'], ['s2']]);
    expect(ids(await store.listSpritesOf(organization.id, 10))).toEqual(['s1', 's2']);
    expect(ids(await store.listRunningInApps('', 10))).toEqual(['a1']);
    expect(ids(await store.listRunningOf('acme', 'local'))).toEqual(['a1', 'a2', 'a4']);
    expect(await store.countElsewhere('acme', 'local')).toBe(1);
    expect((await store.listWarm(20, 10)).map(({ id }) => id)).toEqual(['w2', 'w1']);
    expect((await store.listWarm(19, 10)).map(({ id }) => id)).toEqual(['w2']);
    expect((await store.listWarmOf(organization.id, 1)).map(({ id }) => id)).toEqual(['w2']);
  });
});
