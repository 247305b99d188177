// `remora dev --driver qemu`: the lines that it prints, pasted, with the agent in a virtual machine.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DevProcess, startDev } from '../support/dev-process.ts';
import { paste, pasteJson, pasteLines } from '../support/paste.ts';
import { emulatorsBelow } from '../support/vm/emulators.ts';
import { isWithoutMachines, makeTestImage } from '../support/vm/vm-image.ts';

describe.skipIf(isWithoutMachines())('remora dev with a virtual machine', () => {
  let top: string;
  let dir: string;
  let dev: DevProcess;

  beforeAll(async () => {
    const image = await makeTestImage('6.12');
    top = mkdtempSync('/var/tmp/rem-dev-');
    dir = join(top, 'dev');
    const platformDir = join(top, 'platform');
    mkdirSync(platformDir);
    symlinkSync(dirname(image.dir), join(platformDir, 'images'));
    const words = ['--driver', 'qemu', '--qemu-image', 'suite-6.12', '--dir', dir, '--port', '0', '--interval', '1000'];
    dev = await startDev({ dir, words, env: { REMORA_PLATFORM_DIR: platformDir } });
  });

  afterAll(async () => {
    await dev?.[Symbol.asyncDispose]();
    if (top !== undefined) rmSync(top, { recursive: true, force: true });
  });

  test('the agent is in the machine, and its gateway reaches the sample provider', async () => {
    const status = await pasteJson(dev.commandFor('what the agent says of itself'));
    expect(status).toMatchObject({ identity: { sprite: 'dev-1', machine: dev.record.machine }, state: 'awake' });
    expect(emulatorsBelow(dir)).toHaveLength(1);
    expect(await pasteJson(dev.commandFor('a call through the gateway'))).toMatchObject({ target: '/hello?from=dev' });
    expect(await pasteJson(dev.commandFor('a call that the policy denies'))).toMatchObject({
      error: 'endpoint_blocked',
    });
    expect(await pasteJson(dev.commandFor('and why'))).toMatchObject({ decision: 'deny', rule: '/admin*' });
    expect((await paste(dev.commandFor('a stream through the gateway'))).match(/^event: beat$/gm)).toHaveLength(3);
  });

  test('ports and events of the machine', async () => {
    expect(await pasteJson(dev.commandFor('open ports'))).toMatchObject({ ports: expect.any(Array) });
    expect(await pasteLines(dev.commandFor('ports as they open'), 1)).toMatchObject([{ type: 'port_list' }]);
    expect(await pasteLines(dev.commandFor('every event of the agent'), 1)).toMatchObject([{ type: 'hello' }]);
  });

  test('the database node of the host, and a wait for its next transactions', async () => {
    const report = await pasteJson(dev.commandFor('how fresh the replica is'));
    expect(report).toMatchObject({ primary: 'remote', hostname: 'db-primary:20202' });
    const command = dev.commandFor('wait for a transaction');
    const wanted = /txid=([0-9a-f]{16})/.exec(command)?.[1] ?? '';
    expect(String((await pasteJson(command)).txID) >= wanted).toBe(true);
    const [init] = await pasteLines(dev.commandFor("the database node's own stream"), 1);
    expect(init).toMatchObject({ type: 'init', data: { isPrimary: false } });
  });

  test('suspend, wait, start: it comes back from its snapshot, and knows it', async () => {
    const status = dev.commandFor('what the agent says of itself');
    const before = await pasteJson(status);
    expect(await pasteJson(dev.commandFor('suspend the machine'))).toEqual({ ok: true });
    expect(await pasteJson(dev.commandFor('wait until it is suspended'))).toEqual({ ok: true });
    expect(emulatorsBelow(dir)).toEqual([]);
    expect(await pasteJson(dev.commandFor('wake it'))).toMatchObject({ previous_state: 'suspended' });
    await expect
      .poll(async () => (await pasteJson(status)).generation, { timeout: 60_000 })
      .toBe(Number(before.generation) + 1);
  });

  test('Ctrl-C ends the machine, and leaves no file of it but in the directory that was asked for', async () => {
    expect(await dev.end('SIGINT')).toBe(0);
    expect(emulatorsBelow(dir)).toEqual([]);
    expect(readdirSync(dir)).not.toContain('agent.sock');
  });
});
