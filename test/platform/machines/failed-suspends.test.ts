// A suspend for which there is no room, and one that a failing restart called off: the machine runs on, and its record, its events and those who
// wait say so.
import { expect, onTestFinished, test } from 'vitest';
import { createMachineHistory } from '../../../src/platform/machines/records/machine-history.ts';
import { createMachineStore } from '../../../src/platform/machines/records/machine-store.ts';
import { makeMachine } from '../../../src/platform/machines-api/make-machine.ts';
import { createOrganizationStore } from '../../../src/platform/organizations/organization-store.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import { createModelPlatform } from '../../support/machine-model/model-platform.ts';
import { createPlayedHost } from '../../support/machine-model/played-host.ts';
import { memoryDir } from '../../support/memory-dir.ts';

async function openRunning() {
  const storage = openSqliteStorage(memoryDir());
  onTestFinished(() => storage[Symbol.asyncDispose]());
  const organization = await createOrganizationStore(storage).create('acme', 1);
  const place = { organization_id: organization.id, app: 'acme', host: 'h1' };
  const made = { ...place, name: undefined, config: {}, cordoned: false, lease: undefined };
  const { id } = await storage.transaction((sql) => makeMachine(sql, made, Date.now()));
  const played = createPlayedHost(() => undefined);
  const ignore = () => undefined;
  const platform = createModelPlatform({
    storage,
    host: 'h1',
    id,
    played,
    startDeadline_ms: 60_000,
    onMove: ignore,
    onStep: ignore,
  });
  const { service } = platform;
  onTestFinished(() => service[Symbol.asyncDispose]());
  await service.reconcile();
  service.carryOn();
  await service.start(id);
  const suspended = () =>
    service.wait(id, {
      state: 'suspended',
      instance_id: undefined,
      timeout_ms: 20_000,
      signal: new AbortController().signal,
    });
  const expectAwake = async (reason: string) => {
    expect(await createMachineStore(storage).find(id)).toMatchObject({ state: 'running', wanted: 'running' });
    expect(played.instances.get(id)?.state).toBe('running');
    const [newest] = await createMachineHistory(storage).list(id, 1);
    const message = expect.stringContaining(reason);
    expect(newest).toMatchObject({ type: 'suspend_failed', status: 'running', source: 'platform', message });
  };
  return { id, service, played, suspended, expectAwake };
}

test('a full disk leaves the machine awake and says so, and the next suspend works', async () => {
  const { id, service, played, suspended, expectAwake } = await openRunning();
  played.fault = { call: 'suspend', kind: 'full' };
  await service.suspend(id);
  await expect(suspended()).rejects.toMatchObject({
    code: 'invalid_state',
    message: expect.stringMatching(/runs on: the disk of the machines is full/),
  });
  await expectAwake('full');

  await service.suspend(id);
  await suspended();
  expect(played.instances.get(id)?.state).toBe('suspended');
});

test('a restart that cannot end a machine before its freeze leaves it awake and says so, and the next one works', async () => {
  const { id, service, played, suspended, expectAwake } = await openRunning();
  const before = played.instances.get(id)?.instance_id;
  played.fault = { call: 'stop', kind: 'fail' };
  await service.suspend(id);
  // The restart has its turn before the freeze.
  const [restarted, waited] = await Promise.allSettled([service.restart(id), suspended()]);
  expect(restarted).toMatchObject({ reason: { code: 'internal' } });
  const message = expect.stringMatching(/runs on: .* the driver could not stop/);
  expect(waited).toMatchObject({ reason: { code: 'invalid_state', message } });
  await expectAwake('the driver could not stop');

  await service.restart(id);
  expect(played.instances.get(id)).toMatchObject({ state: 'running' });
  expect(played.instances.get(id)?.instance_id).not.toBe(before);
});
