// A checkpoint that is put back onto a machine of the machines API: the boot that follows keeps it, and the next stop resets as every stop does.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';
import { readIfThere } from '../../support/read-if-there.ts';

async function openMachine() {
  const options = { agentCommand: machineCommand(), trustMachines: true };
  const platform = await openTestPlatform(options);
  const made = await platform.call({ method: 'POST', path: '/v1/apps/acme/machines', body: { config: {} } });
  const { id } = made.json;
  const post = (path: string, body?: unknown) => platform.call({ method: 'POST', path, body });
  const wait = (state: string) => platform.call({ path: `/v1/apps/acme/machines/${id}/wait?state=${state}` });
  await wait('running');
  const { dir } = await platform.admin.readMachine({ organization: 'acme', sprite: id });
  const file = join(dir, 'home', 'work.txt');
  const write = (text: string) => {
    mkdirSync(join(dir, 'home'), { recursive: true });
    writeFileSync(file, text);
  };
  const read = () => readIfThere(file);
  const restore = async () => {
    const { text } = await post(`/v1/sprites/${id}/checkpoints/v0/restore`);
    expect(text).toContain('"type":"complete"');
  };
  const stop = async () => {
    await post(`/v1/apps/acme/machines/${id}/stop`);
    expect((await wait('stopped')).status).toBe(200);
  };
  const start = () => post(`/v1/apps/acme/machines/${id}/start`);
  write('kept');
  expect((await post(`/v1/sprites/${id}/checkpoint`)).text).toContain('"type":"complete"');
  write('changed');
  return { id, platform, post, write, read, restore, stop, start };
}

test('of a machine that runs: it boots with the files of the checkpoint', async () => {
  const machine = await openMachine();
  await machine.restore();
  expect(machine.read()).toBe('kept');
  await machine.stop();
  await machine.start();
  expect(machine.read()).toBeUndefined();
});

test('of a machine that is stopped: its next boot has them, unless it gets a new version first', async () => {
  const machine = await openMachine();
  await machine.stop();
  await machine.restore();
  await machine.start();
  expect(machine.read()).toBe('kept');
  await machine.stop();
  await machine.restore();
  expect((await machine.post(`/v1/apps/acme/machines/${machine.id}`, { config: { env: { A: '1' } } })).status).toBe(
    200,
  );
  await machine.start();
  expect(machine.read()).toBeUndefined();
});
