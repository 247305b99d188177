// The writable files of a machine of the process driver: where its programs begin, and what outlives its stops.
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { eventually } from '../support/eventually.ts';
import { readIfThere } from '../support/read-if-there.ts';

async function openSprite() {
  const machine = await openAgentMachine({ trustMachines: true });
  const client = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url });
  return { machine, client, sprite: client.sprite('dev-1'), home: join(machine.dir, 'home') };
}

test('sessions and services begin in the tree home, which is their HOME', async () => {
  const { sprite, home } = await openSprite();
  expect((await sprite.execFile('sh', ['-c', 'pwd; echo $HOME'])).stdout).toBe(`${home}\n${home}\n`);
  const stream = await sprite.createService('one', { cmd: 'sh', args: ['-c', 'pwd > "$HOME/where"'] }, '0s');
  for await (const _ of stream);
  expect(await eventually(() => readIfThere(join(home, 'where')) || undefined)).toBe(`${home}\n`);
  expect(statSync(home).mode & 0o777).toBe(0o700);
});

test('no stop and no cold start resets it, and the delete of the sprite removes it', async () => {
  const { machine, client, sprite } = await openSprite();
  await sprite.execFile('sh', ['-c', 'echo kept > file']);
  expect((await machine.post('stop')).status).toBe(200);
  expect((await machine.wait('state=stopped')).status).toBe(200);
  expect((await sprite.execFile('cat', ['file'])).stdout).toBe('kept\n');
  await client.deleteSprite('dev-1');
  await eventually(() => !existsSync(machine.dir) || undefined);
});
