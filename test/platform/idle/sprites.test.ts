// The cycle of sprites with real agents: running, warm, cold and running again, and what keeps one awake.
import { expect, test } from 'vitest';
import { openAgentMachine } from '../../support/agent-machine.ts';
import { ask } from '../../support/ask.ts';
import { eventually } from '../../support/eventually.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';
import { runHere } from '../../support/run-here.ts';

type Json = Readonly<Record<string, unknown>>;

async function openSprite(idle: { readonly sprite_ms: number; readonly cold_ms?: number }) {
  const machine = await openAgentMachine({ trustMachines: true, idle });
  const { platform, id, socket } = machine;
  const path = `/v1/apps/acme/machines/${id}`;
  await machine.channel();
  return {
    ...machine,
    path,
    sprite: async () => (await platform.call({ path: '/v1/sprites/dev-1' })).json,
    idle: async () => (await platform.call({ path: `${path}/idle` })).json,
    reasons: async () =>
      (await platform.call({ path: `${path}/idle` })).json.kept_awake_by.map(
        ({ kind, owner }: Json) => `${kind} ${owner}`,
      ),
    events: async (): Promise<readonly Json[]> => (await platform.call({ path: `${path}/events` })).json.toReversed(),
    hold: (name: string) =>
      ask(socket, {
        method: 'PUT',
        target: `/v1/tasks/${name}`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ expire: '10m' }),
      }),
    release: (name: string) => ask(socket, { method: 'DELETE', target: `/v1/tasks/${name}` }),
    status: async () => (await platform.call({ path: '/v1/sprites/dev-1' })).json.status,
  };
}

test('one without work becomes warm, then cold, keeps its files, and a call wakes it each time', async () => {
  const { platform, status, sprite, events, idle } = await openSprite({ sprite_ms: 500, cold_ms: 5_000 });
  const file = (method: string, body?: string) =>
    fetch(`${platform.url}/v1/sprites/dev-1/fs/${method === 'PUT' ? 'write' : 'read'}?path=kept&workingDir=/tmp`, {
      method,
      headers: { authorization: `Bearer ${platform.token.reveal()}` },
      ...(body === undefined ? {} : { body }),
    });
  expect((await file('PUT', 'words')).status).toBe(200);
  const asleep = await eventually(async () => {
    const now = await idle();
    return now.state === 'suspended' && now;
  });
  const warm = await sprite();
  expect(Date.parse(warm.last_warming_at)).toBeGreaterThan(Date.parse(warm.last_running_at));
  const suspended = (await events()).find(({ type }) => type === 'suspend');
  expect(suspended).toMatchObject({
    source: 'platform',
    message: expect.stringMatching(/^idle: nothing came for it and its agent saw no work for \d+ s$/),
  });
  expect(asleep).toMatchObject({
    idle: false,
    kept_awake_by: [],
    would_be_cold_at: expect.any(String),
  });
  expect(await (await file('GET')).text()).toBe('words');
  await eventually(async () => (await status()) === 'warm');
  await eventually(async () => (await status()) === 'cold');
  const stop = (await events()).find(({ type }) => type === 'stop');
  expect(stop).toMatchObject({ source: 'platform', message: expect.stringMatching(/^it was warm for \d+ s$/) });
  expect(await (await file('GET')).text()).toBe('words');
  expect((await events()).findLast(({ type }) => type === 'start')).toMatchObject({ cause: 'expired' });
});

test('a hold keeps it awake, is named, and it sleeps once that is released', async () => {
  const { hold, release, status, reasons, idle, events } = await openSprite({ sprite_ms: 1_000 });
  expect((await hold('build')).status).toBe(200);
  await eventually(async () => (await reasons()).join() === 'hold build');
  expect(await idle()).toMatchObject({
    state: 'running',
    idle: false,
    idle_since: null,
    sleep: { of: 'sprite', move: 'suspend', after_ms: 1_000 },
    would_sleep_at: null,
    would_be_cold_at: null,
  });
  for (let looks = 0; looks < 10; looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(await status()).toBe('running');
  }
  expect((await events()).some(({ type }) => type === 'suspend')).toBe(false);
  expect((await release('build')).status).toBe(204);
  await eventually(async () => (await status()) === 'warm');
});

test('after a restart of the platform it sleeps as if there had been none', async () => {
  const machine = await openAgentMachine({ idle: { sprite_ms: 2_000 }, endMachines: false });
  await machine.channel();
  const begun_ms = performance.now();
  await machine.restart();
  const status = async () => (await machine.platform.call({ path: '/v1/sprites/dev-1' })).json.status;
  await machine.channel(2);
  await eventually(async () => (await status()) === 'warm');
  expect(performance.now() - begun_ms).toBeGreaterThan(500);
});

test('the command line says why a machine is awake', async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), idle: { sprite_ms: 60_000 } });
  const { id, post } = await machineOf(platform, 'dev-1');
  const why = (...words: string[]) => runHere(['platform', 'why', 'dev-1', '--dir', platform.dir, ...words]);
  expect((await why()).out).toMatch(/^machine +[0-9a-z]+\nstate +stopped$/);
  expect((await post('start')).status).toBe(200);
  const { code, out } = await why();
  expect(code).toBe(0);
  expect(out).toMatch(/idle +no\n/);
  expect(out).toMatch(/sleeps +not while it is kept awake; suspend after 1 min without work\n/);
  expect(out).toMatch(/agent +agent +- +its agent is not connected/);
  const { out: json } = await why('--json');
  expect(JSON.parse(json)).toMatchObject({ machine_id: id, state: 'running', idle: false });
  expect((await runHere(['platform', 'why', 'nobody', '--dir', platform.dir])).code).not.toBe(0);
});
