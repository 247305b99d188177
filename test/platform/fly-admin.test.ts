// The npm package fly-admin, unmodified, against a real platform: every method of its classes Machine and Volume.
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { machineCommand, openTestPlatform } from '../support/open-platform.ts';

// biome-ignore lint/suspicious/noExplicitAny: its types say that an image is always there, which a process of the host does not have.
type Client = any;

const require = createRequire(import.meta.url);

function loadClient(): { new (token: string, urls: object): Client } | undefined {
  try {
    // `createClient` takes no address; the class behind it does.
    return require('fly-admin/dist/client').default;
  } catch {
    return undefined;
  }
}

/** What a platform of Remora does not serve. */
const MISSING = ['listProcesses'];

test('every method of its classes Machine and Volume is answered', async ({ skip }) => {
  const FlyClient = loadClient();
  if (FlyClient === undefined) return skip('the package fly-admin is not installed: npm ci');
  const clock = { passed_ms: 0, wall_ms: () => Date.now() + clock.passed_ms, mono_ms: () => performance.now() };
  const platform = await openTestPlatform({ agentCommand: machineCommand(), clock });
  const urls = { apiUrl: platform.url, graphqlUrl: platform.url };
  const client: Client = new FlyClient(platform.token.reveal(), urls);
  const { Machine: machines, Volume: volumes } = client;
  const done = new Set<string>();
  /** Calls a method and counts it. */
  async function use(of: 'Machine' | 'Volume', method: string, ...args: unknown[]): Promise<Client> {
    const value = await client[of][method](...args);
    done.add(`${of}.${method}`);
    return value;
  }
  const app_name = 'acme';

  const volume = await use('Volume', 'createVolume', { app_name, name: 'data', region: 'local', size_gb: 1 });
  const config = {
    env: { A: '1' },
    guest: { cpus: 1, memory_mb: 256 },
    mounts: [{ volume: volume.id, path: '/data' }],
  };
  const made = await use('Machine', 'createMachine', { app_name, name: 'web', config });
  const named = { app_name, machine_id: made.id };
  await use('Machine', 'waitMachine', { ...named, instance_id: made.instance_id, timeout: '30s', state: 'started' });
  expect(await use('Machine', 'getMachine', named)).toMatchObject({ id: made.id, name: 'web', config });
  expect(await use('Machine', 'listMachines', app_name)).toMatchObject([{ id: made.id }]);
  expect(await machines.listMachines({ app_name, region: 'local', include_deleted: '' })).toHaveLength(1);
  expect(await use('Volume', 'getVolume', { app_name, volume_id: volume.id })).toMatchObject({
    attached_machine_id: made.id,
  });
  expect(await use('Volume', 'listVolumes', app_name)).toMatchObject([{ id: volume.id }]);
  expect(await use('Volume', 'listSnapshots', { app_name, volume_id: volume.id })).toEqual([]);
  expect(await use('Volume', 'extendVolume', { app_name, volume_id: volume.id, size_gb: 2 })).toMatchObject({
    volume: { size_gb: 2 },
  });
  await use('Machine', 'cordonMachine', named);
  await use('Machine', 'uncordonMachine', named);
  const lease = await use('Machine', 'acquireLease', { ...named, ttl: 300, description: 'deploy' });
  expect(await use('Machine', 'getLease', named)).toEqual(lease);
  clock.passed_ms = 301_000;
  expect(await machines.getLease(named).catch(() => 'over')).toBe('over');
  const updated = await use('Machine', 'updateMachine', { ...named, config: { ...config, env: { A: '2' } } });
  expect(updated.config.env).toEqual({ A: '2' });
  await machines.waitMachine({ ...named, instance_id: updated.instance_id });
  expect(await use('Machine', 'listVersions', named)).toMatchObject([
    { version: updated.version, user_config: { env: { A: '2' } } },
    { version: made.version, user_config: { env: { A: '1' } } },
  ]);
  await use('Machine', 'restartMachine', { ...named, timeout: '5s' });
  await use('Machine', 'signalMachine', { ...named, signal: 'SIGUSR1' }).catch(() => undefined);
  await use('Machine', 'stopMachine', { ...named, signal: 'SIGTERM', timeout: '5s' });
  await machines.waitMachine({ ...named, state: 'stopped' });
  await use('Machine', 'startMachine', named);
  expect((await use('Machine', 'listEvents', named)).length).toBeGreaterThan(5);
  await expect(machines.deleteMachine(named)).rejects.toThrow(/invalid_state/);
  await use('Machine', 'deleteMachine', { ...named, force: true });
  await use('Volume', 'deleteVolume', { app_name, volume_id: volume.id });

  const all = [machines, volumes].flatMap((of) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(of))
      .filter((method) => method !== 'constructor')
      .map((method) => `${of === machines ? 'Machine' : 'Volume'}.${method}`),
  );
  const missing = all.filter((method) => !done.has(method));
  console.log(`fly-admin: ${done.size} of ${all.length} methods of Machine and Volume`);
  expect(missing).toEqual(MISSING.map((method) => `Machine.${method}`));
});
