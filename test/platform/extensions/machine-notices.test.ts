// The notices that providers get of machines: what they say of each transition, and how they are delivered.
import { expect, test } from 'vitest';
import type { MachineEvent } from '../../../src/contract/machine-events.ts';
import { toMachineNotice } from '../../../src/platform/machine-notices/machine-notice.ts';
import { openStorage } from '../../../src/platform/storage/open-storage.ts';
import { openOnce } from '../../support/at-end.ts';
import { type EventBody, startTestProvider } from '../../support/extension-provider.ts';
import { insertExtension } from '../../support/insert-extension.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';
import { runHere } from '../../support/run-here.ts';
import { soon } from '../../support/soon.ts';

const opened = openOnce(async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand() });
  const provider = await startTestProvider();
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'kv-app' } });
  const { secrets } = await platform.admin.registerExtensionProvider({
    name: 'kv',
    base_url: provider.base_url,
    app: 'kv-app',
  });
  provider.trust(secrets.provisioning);
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'foreign-app' } });
  const foreign = { name: 'foreign', base_url: 'https://foreign.example', app: 'foreign-app' };
  await platform.admin.registerExtensionProvider(foreign);
  return { platform, provider };
});

test('the provider is told of each transition of the machines of its app, in order, signed, as CloudEvents', async () => {
  const { platform, provider } = opened();
  const machine = await machineOf(platform, 'of-kv', { restart: { policy: 'no' } }, 'kv-app');
  const other = await machineOf(platform, 'of-nobody');
  await other.post('start');
  await machine.post('start');
  expect(await machine.suspend()).toBe(200);
  await machine.post('start');
  expect(await machine.stop()).toBe(200);
  const words = ['starting', 'running', 'suspending', 'suspended', 'starting', 'running', 'stopped'];
  await soon(() => expect(provider.events.length).toBeGreaterThanOrEqual(words.length));
  const types = provider.events.map(({ type }) => type);
  expect(types).toEqual(words.map((word) => `io.remora.machine.${word}`));
  const [first, second] = provider.events;
  expect(first).toMatchObject({
    specversion: '1.0',
    source: machine.path,
    data: {
      machine_id: machine.id,
      status: 'starting',
      data: { Transition: { from: 'stopped', to: 'starting', trigger: 'start' } },
      url: `${provider.base_url}/extensions/events`,
    },
  });
  expect(second?.data?.data).toEqual({ Transition: { from: 'starting', to: 'running', trigger: 'started' } });
  expect(new Set(provider.events.map(({ id }) => id)).size).toBe(words.length);
  expect(new Set(provider.events.map(({ data }) => data?.nonce)).size).toBe(words.length);
  expect(JSON.stringify(provider.events)).not.toContain(other.id);
  // Another provider has another app.
  const shown = await runHere(['platform', 'extension-provider', 'show', 'foreign', '--json', '--dir', platform.dir]);
  expect(JSON.parse(shown.out).notices).toMatchObject({ waiting: 0, delivered: 0 });
  expect(provider.refused()).toBe(0);
});

test('a crash has the status failed and says how it was, and a deletion is told', async () => {
  const { platform, provider } = opened();
  const machine = await machineOf(platform, 'crashing', { restart: { policy: 'no' } }, 'kv-app');
  await machine.post('start');
  process.kill((await machine.report()).pid, 'SIGKILL');
  expect(await machine.wait('state=stopped')).toBe(200);
  await platform.call({ method: 'DELETE', path: '/v1/sprites/crashing' });
  const own = () => provider.events.flatMap(({ data }) => (data?.machine_id === machine.id ? data : []));
  await soon(() => expect(own().map(({ status }) => status)).toEqual(['starting', 'running', 'failed', 'destroyed']));
  expect(own()[2]?.data).toEqual({
    Transition: { from: 'running', to: 'stopped', trigger: 'exit' },
    Error: { message: 'it was ended by SIGKILL', exit_code: null, signal: 'SIGKILL' },
  } satisfies EventBody['data']);
});

test('it is told of trouble with a host of its machines where it wants to know, and not otherwise', async () => {
  const { platform, provider } = opened();
  const machine = await machineOf(platform, 'on-host', { restart: { policy: 'no' } }, 'kv-app');
  await machine.post('start');
  const run = (...words: string[]) => runHere(['platform', ...words, '--dir', platform.dir]);
  await run('host', 'drain');
  await run('host', 'undrain');
  await run('extension-provider', 'update', 'kv', '--event', 'host_trouble');
  await run('host', 'drain');
  await run('host', 'undrain');
  const ofHost = () => provider.events.filter(({ type }) => type.startsWith('io.remora.host.'));
  await soon(() =>
    expect(ofHost().map(({ type }) => type.slice('io.remora.host.'.length))).toEqual(['drained', 'undrained']),
  );
  expect(ofHost()[0]?.data).toMatchObject({
    host: 'local',
    data: { machine_ids: expect.arrayContaining([machine.id]) },
  });
});

test('it is told of members of organizations where it has an extension, where it wants to know', async () => {
  const { platform, provider } = opened();
  const run = async (...words: string[]) => {
    const { code, out, err } = await runHere(['platform', ...words, '--dir', platform.dir, '--json']);
    expect([code, err]).toEqual([0, '']);
    return JSON.parse(out);
  };
  await platform.admin.createOrganization('strangers');
  const organization_id = (await platform.admin.listOrganizations()).find(({ slug }) => slug === 'acme')?.id ?? '';
  const storage = await openStorage(platform.dir, undefined);
  await insertExtension(storage, { id: 'e1', provider: 'kv', provider_id: 'p1', organization_id });
  await storage[Symbol.asyncDispose]();
  await run('extension-provider', 'update', 'kv', '--event', 'user_added', '--event', 'user_role_changed');
  const { user_id } = await run(
    'user',
    'create',
    'a@x.example',
    '--name',
    'A',
    '--organization',
    'strangers',
    '--role',
    'admin',
  );
  await run('user', 'set-role', user_id, '--organization', 'acme', '--role', 'member');
  await run('user', 'set-role', user_id, '--organization', 'acme', '--role', 'member');
  await run('user', 'set-role', user_id, '--organization', 'acme', '--role', 'admin');
  await run('user', 'remove', user_id, '--organization', 'acme');
  await run('extension-provider', 'update', 'kv', '--event', 'user_removed');
  await run('user', 'set-role', user_id, '--organization', 'acme', '--role', 'member');
  await run('user', 'delete', user_id);
  const ofUser = () => provider.events.filter(({ type }) => type.startsWith('io.remora.organization.'));
  await soon(() => expect(ofUser()).toHaveLength(3));
  expect(ofUser().map(({ type, data }) => [type, data?.data])).toEqual([
    ['io.remora.organization.user_added', { role: 'member' }],
    ['io.remora.organization.user_role_changed', { role: 'admin', from: 'member' }],
    ['io.remora.organization.user_removed', { role: 'member' }],
  ]);
  for (const { data } of ofUser()) expect(data).toMatchObject({ organization_id, user_id });
});

test('what was delivered, and what waits, is shown to the operator', async () => {
  const { platform } = opened();
  const shown = await runHere(['platform', 'extension-provider', 'show', 'kv', '--dir', platform.dir, '--json']);
  const { notices } = JSON.parse(shown.out);
  expect(notices).toMatchObject({ dead: 0, dropped: 0, last_error: null });
  expect(notices.delivered + notices.waiting).toBeGreaterThan(0);
  const { text } = await platform.call({ path: '/metrics' });
  expect(text).toMatch(/remora_platform_provider_notices\{state="delivered"\} \d+/);
});

const event: Omit<MachineEvent, 'id'> = { type: 'exit', status: 'stopped', source: 'machine', timestamp: 1 };

test.each<[string, Partial<MachineEvent>, string | undefined]>([
  ['ended with 0 by itself', { exit: { exit_code: 0, signal: null, requested: false } }, 'stopped'],
  ['was stopped', { exit: { exit_code: null, signal: 'SIGKILL', requested: true } }, 'stopped'],
  ['ended with 7', { exit: { exit_code: 7, signal: null, requested: false } }, 'failed'],
  ['ran out of memory', { exit: { exit_code: null, signal: 'SIGKILL', requested: false, oom_killed: true } }, 'failed'],
  ['ended unseen', { exit: { exit_code: null, signal: null, requested: false } }, 'failed'],
  ['could not be started', { type: 'fail', status: 'failed' }, 'failed'],
  ['was updated', { type: 'update', status: 'running' }, undefined],
  ['had its snapshot thrown away', { type: 'discard', status: 'running' }, undefined],
])('of a machine that %s', (_, fields, status) => {
  const notice = toMachineNotice('m', { ...event, ...fields }, 'running');
  expect(notice?.body.status).toBe(status);
  expect(notice?.type).toBe(status === undefined ? undefined : `io.remora.machine.${status}`);
  expect(notice?.body.data.Error !== undefined).toBe(status === 'failed');
});
