// Machines of apps with real agents: what their services say, how many stay, and how one makes room for another.
import { expect, test } from 'vitest';
import type { MachineConfig } from '../../../src/contract/machine-config.ts';
import { ask } from '../../support/ask.ts';
import { eventually } from '../../support/eventually.ts';
import { openTestPlatform, type TestPlatformOptions } from '../../support/open-platform.ts';
import { remoraPath } from '../../support/run-remora.ts';

type Json = Readonly<Record<string, unknown>>;

const agentCommand = { command: process.execPath, args: [remoraPath, 'agent'] };

async function openApp(idle: TestPlatformOptions['idle']) {
  const platform = await openTestPlatform({ agentCommand, trustMachines: true, idle: idle ?? {} });
  async function make(config: MachineConfig) {
    const made = await platform.call({ method: 'POST', path: '/v1/apps/acme/machines', body: { config } });
    if (made.status !== 200) throw new Error(made.text);
    const path = `/v1/apps/acme/machines/${made.json.id}`;
    const post = (action: string) => platform.call({ method: 'POST', path: `${path}/${action}` });
    const events = async (): Promise<readonly Json[]> => (await platform.call({ path: `${path}/events` })).json;
    // It may sleep already by then.
    await eventually(async () => (await events()).some(({ type }) => type === 'started'));
    return {
      id: made.json.id as string,
      post,
      state: async () => (await platform.call({ path })).json.state as string,
      idle: async () => (await platform.call({ path: `${path}/idle` })).json,
      events,
    };
  }
  return { platform, make };
}

test('one of two machines sleeps, the other is the fewest that may run, and says so', async () => {
  const { make } = await openApp({ round_ms: 1_000 });
  const config = { http_service: { auto_stop_machines: 'suspend', min_machines_running: 1 } } as const;
  const machines = await Promise.all([make(config), make(config)]);
  const states = async () => (await Promise.all(machines.map(({ state }) => state()))).sort().join();
  await eventually(async () => (await states()) === 'running,suspended');
  // The agent of the one that is left connects soon.
  const left = await eventually(async () => {
    const said = await Promise.all(machines.map(({ idle }) => idle()));
    return said.find(({ state, kept_awake_by }) => state === 'running' && kept_awake_by.length === 1);
  });
  expect(left).toMatchObject({
    idle: false,
    kept_awake_by: [{ kind: 'min_machines_running', reason: '1 run, and 1 are to run' }],
    sleep: { of: 'app', move: 'suspend', after_ms: 1_000 },
    would_sleep_at: null,
  });
  // Several rounds later it still runs.
  const later = performance.now() + 2_500;
  await eventually(() => performance.now() > later);
  expect(await states()).toBe('running,suspended');
});

test('a machine that is stopped boots again, a cordoned one is left, and one whose services say nothing too', async () => {
  const { make } = await openApp({ round_ms: 600 });
  const stopping = await make({ http_service: { auto_stop_machines: 'stop' } });
  await eventually(async () => (await stopping.state()) === 'stopped');
  const stop = (await stopping.events()).find(({ type }) => type === 'stop');
  expect(stop).toMatchObject({ source: 'platform', message: expect.stringMatching(/^idle: /) });
  const silent = await make({});
  // Its agent connects soon.
  const why = await eventually(async () => {
    const said = await silent.idle();
    return said.kept_awake_by.length === 1 && said;
  });
  expect(why).toMatchObject({
    idle: false,
    sleep: null,
    kept_awake_by: [{ kind: 'setting', owner: 'auto_stop_machines' }],
  });
  expect((await stopping.post('cordon')).status).toBe(200);
  expect((await stopping.post('start')).status).toBe(200);
  await eventually(async () => (await stopping.idle()).kept_awake_by.map(({ kind }: Json) => kind).join() === 'cordon');
  const later = performance.now() + 1_500;
  await eventually(() => performance.now() > later);
  expect([await stopping.state(), await silent.state()]).toEqual(['running', 'running']);
  expect((await stopping.post('uncordon')).status).toBe(200);
  await eventually(async () => (await stopping.state()) === 'stopped');
});

test('the sprite without work makes room for another, the one that is held does not', async () => {
  const { platform } = await openApp({ sprite_ms: 60_000, startWait_ms: 60_000 });
  const sprites = ['one', 'two'];
  for (const name of sprites) await platform.admin.createSprite({ organization: 'acme', name });
  const [one, two] = await Promise.all(
    sprites.map((sprite) => platform.admin.readMachine({ organization: 'acme', sprite })),
  );
  if (one === undefined || two === undefined) throw new Error('the sprites have no machines');
  const start = (id: string) => platform.call({ method: 'POST', path: `/v1/apps/acme/machines/${id}/start` });
  const stateOf = async (id: string) => (await platform.call({ path: `/v1/apps/acme/machines/${id}` })).json.state;
  await platform.admin.setLimits('acme', { running_limit: 1 });
  expect((await start(one.id)).status).toBe(200);
  expect((await start(two.id)).status).toBe(200);
  expect(await stateOf(one.id)).toBe('suspended');
  const { json } = await platform.call({ path: `/v1/apps/acme/machines/${one.id}/events` });
  expect(json.find(({ type }: Json) => type === 'suspend')).toMatchObject({
    source: 'platform',
    message: expect.stringMatching(/^room for another sprite of the organization/),
  });
  await ask(`${two.dir}/agent.sock`, {
    method: 'PUT',
    target: '/v1/tasks/build',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ expire: '10m' }),
  });
  const waiting = start(one.id);
  const later = performance.now() + 2_000;
  await eventually(() => performance.now() > later);
  expect(await stateOf(two.id)).toBe('running');
  await ask(`${two.dir}/agent.sock`, { method: 'DELETE', target: '/v1/tasks/build' });
  expect((await waiting).status).toBe(200);
  expect(await stateOf(two.id)).toBe('suspended');
});
