// A thousand idle sprites of a driver that plays machines, behind one server that plays their agents: how many sleep at once, and what it
// costs when all of them do. Then faults: an agent that hangs, one that changes its mind, a machine that ends in its sleep, clocks that are set.
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Pool } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { type Clock, systemClock } from '../../../src/core/clock.ts';
import { createChanges } from '../../../src/platform/changes.ts';
import type { ChannelSession } from '../../../src/platform/channels/channel-session.ts';
import { createMachineService } from '../../../src/platform/machines/moves/machine-service.ts';
import { createMachineHistory } from '../../../src/platform/machines/records/machine-history.ts';
import { createMachineStore } from '../../../src/platform/machines/records/machine-store.ts';
import { openIdle } from '../../../src/platform/open-idle.ts';
import { createOrganizationStore } from '../../../src/platform/organizations/organization-store.ts';
import { createSpriteStore } from '../../../src/platform/sprites/sprite-store.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import { eventually } from '../../support/eventually.ts';
import { createCutGate } from '../../support/machine-model/cut-gate.ts';
import { createPlayedHost, type PlayedInstance } from '../../support/machine-model/played-host.ts';
import { memoryDir } from '../../support/memory-dir.ts';
import { silentLog } from '../../support/silent-log.ts';

const HOST = 'h1';

interface World {
  /** What the agents answer to the question for their consent. */
  consent: 'agree' | 'withdraw';
  /** The organization whose agents do not answer it. */
  hanging: string | undefined;
  idle_ms: number;
  asked: number;
}

async function playAgents() {
  const world: World = { consent: 'agree', hanging: undefined, idle_ms: 60_000, asked: 0 };
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/v1/idle') {
      world.asked += 1;
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ idle: true, idle_ms: world.idle_ms, blockers: [] }));
      return;
    }
    if (request.headers.host === world.hanging) return;
    response.writeHead(200, { 'content-type': 'application/x-ndjson' });
    response.write('{"type":"agreed"}\n');
    if (world.consent === 'withdraw') response.write('{"type":"withdrawn","reason":"the hold build"}\n');
  });
  const path = join(memoryDir(), 'agents.sock');
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  function openChannel(organization: string): ChannelSession {
    const dispatcher = new Pool(`http://${organization}`, { socketPath: path, connections: 16 });
    onTestFinished(() => dispatcher.destroy());
    return { dispatcher } as unknown as ChannelSession;
  }
  return { world, openChannel };
}

/** So many sprites that run, on a platform whose driver plays them. */
async function openSprites(count: number, sprite_ms: number, clock: Clock = systemClock, cold_ms?: number) {
  const storage = openSqliteStorage(memoryDir());
  onTestFinished(() => storage[Symbol.asyncDispose]());
  const { world, openChannel } = await playAgents();
  const organizations = createOrganizationStore(storage);
  const owners = [await organizations.create('acme', 1), await organizations.create('other', 1)] as const;
  const channels = owners.map(({ slug }) => openChannel(slug));
  const toOwner = (id: string) => Number(id.slice(1)) % 2;
  const [sprites, machines] = [createSpriteStore(storage), createMachineStore(storage)];
  const played = createPlayedHost(() => undefined);
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) {
    const [id, name] = [`m${String(index).padStart(6, '0')}`, `s-${index}`];
    const owner = owners[toOwner(id)] ?? owners[0];
    const given = { organization_id: owner.id, name, labels: [], url_settings: { auth: 'sprite' } } as const;
    const sprite = await sprites.insert(given, Date.now());
    const place = { app: owner.slug, organization_id: owner.id, sprite_id: sprite?.id ?? '', region: 'local' };
    await machines.insert({ id, name, ...place, private_ip: '', config: {} }, Date.now());
    (played.instances as Map<string, PlayedInstance>).set(id, { instance_id: 'i', state: 'running', isSilent: false });
    ids.push(id);
  }
  await storage.run(
    "UPDATE machines SET state = 'running', wanted = 'running', host = $1, instance_id = 'i', booted = 1",
    [HOST],
  );
  const gate = createCutGate(() => undefined);
  const changes = createChanges();
  const driver = played.open(gate, (id) => machineService.reported(id));
  const sleeping = { now: 0, most: 0 };
  const machineService = createMachineService({
    storage,
    host: HOST,
    machines,
    async onMove({ machine_id, sprite_id, state }) {
      changes.publish({ type: 'machine_moved', machine_id, sprite_id, state });
    },
    onEvent: () => undefined,
    driver: {
      ...driver,
      async suspend(id) {
        sleeping.now += 1;
        sleeping.most = Math.max(sleeping.most, sleeping.now);
        await driver.suspend(id).finally(() => {
          sleeping.now -= 1;
        });
      },
    },
    clock,
    policyVariables: async () => ({}),
    readDrained: async () => false,
    upkeepPeriod_ms: 600_000,
    freezeDelay_ms: 0,
    startDeadline_ms: 60_000,
    random: () => 0,
    log: silentLog,
  });
  onTestFinished(() => machineService[Symbol.asyncDispose]());
  const log: string[] = [];
  const idle = openIdle({
    options: { idle: { sprite_ms, cold_ms }, log: { ...silentLog, error: (_fields, message) => log.push(message) } },
    stores: { storage, host: HOST, machines },
    machineService,
    channels: { find: (id) => channels[toOwner(id)], whyRefused: () => undefined },
    changes,
    clock,
  });
  onTestFinished(() => idle[Symbol.asyncDispose]());
  const counts = async () => {
    const rows = await storage.all<{ state: string; count: number }>(
      'SELECT state, count(*) AS count FROM machines GROUP BY state',
    );
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
  };
  const find = async (id: string) => {
    const row = await machines.find(id);
    if (row === undefined) throw new Error('there is no such machine');
    return row;
  };
  return { world, idle, machineService, played, sleeping, counts, ids, find, log, storage, changes };
}

test('a thousand idle sprites go to sleep, two at a time at most, and then nothing is asked any more', async () => {
  const { idle, counts, sleeping, world, log } = await openSprites(1_000, 200);
  idle.start();
  await eventually(async () => (await counts()).suspended === 1_000, 170_000);
  expect(sleeping.most).toBeLessThanOrEqual(2);
  expect(log).toEqual([]);
  const { asked } = world;
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(world.asked).toBe(asked);
});

test('one whose agent changes its mind runs on, and says why; it sleeps later', async () => {
  const { idle, counts, world, find, ids, storage } = await openSprites(1, 50);
  world.consent = 'withdraw';
  idle.start();
  const [id = ''] = ids;
  const refused = await eventually(async () => (await idle.explainIdle(await find(id))).last_refusal);
  expect(refused).toMatchObject({ message: 'the hold build' });
  // It may be tried again at this very moment.
  await eventually(async () => (await counts()).running === 1);
  const list = () => createMachineHistory(storage).listAfter(id, 0);
  expect((await list()).map(({ type }) => type)).not.toContain('suspended');
  world.consent = 'agree';
  await eventually(async () => (await counts()).suspended === 1);
  const events = await list();
  expect(events.map(({ type, source }) => `${type} ${source}`).slice(-2)).toEqual([
    'suspend platform',
    'suspended platform',
  ]);
});

test('traffic that begins once the sleep is recorded calls it off', async () => {
  const { idle, counts, find, ids, changes, storage } = await openSprites(1, 50);
  const [id = ''] = ids;
  let isFirst = true;
  changes.subscribe('machine_moved', ({ state }) => {
    if (state === 'suspending' && isFirst) idle.traffic.begin(id);
    if (state === 'suspending') isFirst = false;
  });
  idle.start();
  const { message } = await eventually(async () => (await idle.explainIdle(await find(id))).last_refusal);
  expect(message).toBe('traffic proxy (1 in flight)');
  expect(await counts()).toEqual({ running: 1 });
  expect(await idle.explainIdle(await find(id))).toMatchObject({
    idle: false,
    idle_since: null,
    kept_awake_by: [{ kind: 'traffic', reason: '1 in flight' }],
  });
  const events = await createMachineHistory(storage).listAfter(id, 0);
  expect(events.map(({ type }) => type)).toEqual(['suspend', 'suspend_cancelled']);
});

test('a start that comes while the machine falls asleep wakes it', async () => {
  const { idle, find, ids, changes, machineService } = await openSprites(1, 50);
  const [id = ''] = ids;
  const woken: Promise<unknown>[] = [];
  changes.subscribe('machine_moved', ({ state }) => {
    if (state === 'suspending' && woken.length === 0) woken.push(machineService.start(id));
    // It would fall asleep once more.
    if (state === 'running') idle.traffic.begin(id);
  });
  idle.start();
  await eventually(() => woken.length === 1);
  await woken[0];
  expect((await find(id)).wanted).toBe('running');
});

test('a machine that ends while it is frozen, and one that cannot be, are left to the rest of the platform', async () => {
  const { idle, played, find, ids, log } = await openSprites(2, 50);
  played.fault = { call: 'suspend', kind: 'lose' };
  idle.start();
  await eventually(async () => {
    const states = await Promise.all(ids.map(async (id) => (await find(id)).state));
    return states.includes('suspended') && !states.includes('suspending');
  });
  expect(log).toEqual([]);
});

test('agents of one organization that hang keep those of another from no sleep', async () => {
  const { idle, world, find, ids } = await openSprites(20, 50);
  world.hanging = 'acme';
  idle.start();
  const stateOf = async (id: string) => (await find(id)).state;
  const others = ids.filter((_, index) => index % 2 === 1);
  // Less than the agents have to answer.
  await eventually(
    async () => (await Promise.all(others.map(stateOf))).every((state) => state === 'suspended'),
    15_000,
  );
  expect(await stateOf('m000000')).toBe('running');
});

test('a sprite gets cold after its time, and no clock that is set makes it so earlier', async () => {
  const offset = { ms: 0 };
  const clock: Clock = { wall_ms: () => systemClock.wall_ms() + offset.ms, mono_ms: systemClock.mono_ms };
  const { idle, counts, find, ids } = await openSprites(1, 50, clock, 1_500);
  idle.start();
  await eventually(async () => (await counts()).suspended === 1);
  const { state_since } = await find(ids[0] ?? '');
  offset.ms = 3_600_000;
  await eventually(async () => (await counts()).stopped === 1);
  expect(systemClock.wall_ms() - state_since).toBeGreaterThanOrEqual(1_400);
  expect((await find(ids[0] ?? '')).discarded).toBe('expired');
});
