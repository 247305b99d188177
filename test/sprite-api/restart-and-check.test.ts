// Restarting a sprite and asking how it is, by the client of the Sprites API, with a real agent.
import { SpritesClient } from '@fly/sprites';
import { expect, onTestFinished, test } from 'vitest';
import { createDiskCheck } from '../../src/agent/status/disk-check.ts';
import { createDiskProbe } from '../../src/agent/status/disk-probe.ts';
import { systemClock } from '../../src/core/clock.ts';
import { openAgentMachine } from '../support/agent-machine.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/temp-dir.ts';

async function openSprite() {
  const machine = await openAgentMachine({ trustMachines: true });
  const client = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url });
  return { machine, sprite: client.sprite('dev-1') };
}

test('a machine that runs is healthy, and one that sleeps says so and sleeps on', async () => {
  const { machine, sprite } = await openSprite();
  await machine.channel();
  const check = await sprite.check();
  expect(check).toMatchObject({ spriteName: 'dev-1', spriteId: expect.stringMatching(/^spr_/), status: 'healthy' });
  expect([check.reason, check.elapsed]).toEqual([undefined, expect.any(Number)]);
  expect((await machine.post('suspend')).status).toBe(200);
  expect((await machine.wait('state=suspended')).status).toBe(200);
  expect(await sprite.check()).toMatchObject({ status: 'asleep', reason: 'suspended' });
  expect((await machine.post('stop')).status).toBe(200);
  expect((await machine.wait('state=stopped')).status).toBe(200);
  expect(await sprite.check()).toMatchObject({ status: 'asleep', reason: 'stopped' });
});

test('an agent that hangs is told from one that is not connected', async () => {
  const { machine, sprite } = await openSprite();
  await machine.channel();
  const { pid } = await machine.status();
  process.kill(pid, 'SIGSTOP');
  onTestFinished(() => void process.kill(pid, 'SIGCONT'));
  expect(await sprite.check()).toMatchObject({ status: 'unhealthy', reason: 'agent_silent' });
});

test('a restart boots the machine, whether it runs or not', async () => {
  const { machine, sprite } = await openSprite();
  const before = await machine.status();
  expect(await sprite.restart()).toMatchObject({ spriteName: 'dev-1', machineId: machine.id });
  const after = await machine.status();
  expect(after.pid).not.toBe(before.pid);
  await eventually(async () => (await sprite.check()).status === 'healthy');
  expect((await machine.post('stop')).status).toBe(200);
  expect((await machine.wait('state=stopped')).status).toBe(200);
  await sprite.restart();
  expect((await machine.wait('state=running')).status).toBe(200);
});

test('a disk that hangs is told from one that fails, and holds one write only', async () => {
  const stateDir = tempDir();
  let writes = 0;
  const never = new Promise<void>(() => undefined);
  const checkOf = (write?: (path: string) => Promise<void>) =>
    createDiskCheck({ probe: createDiskProbe(stateDir, write), clock: systemClock, limit_ms: 50 });
  const ask = (check: ReturnType<typeof checkOf>) => check.checkAgent({} as never);
  expect(await ask(createDiskCheck({ probe: createDiskProbe(stateDir), clock: systemClock }))).toMatchObject({
    disk: 'ok',
  });
  expect(await ask(createDiskCheck({ probe: createDiskProbe(`${stateDir}/none`), clock: systemClock }))).toMatchObject({
    disk: 'failing',
  });
  const wedged = checkOf(() => {
    writes += 1;
    return never;
  });
  expect(await ask(wedged)).toMatchObject({ disk: 'wedged' });
  expect(await ask(wedged)).toMatchObject({ disk: 'wedged' });
  expect(writes).toBe(1);
});
