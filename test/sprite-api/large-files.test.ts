// Large files of a sprite at the door of the platform: over a lane of a real agent and its supervisor, in both directions.
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { eventually } from '../support/eventually.ts';
import { tempDir } from '../support/temp-dir.ts';

const LANE = 'a lane of the channel of a machine is open';

async function openSprite() {
  const machine = await openAgentMachine({ trustMachines: true });
  await machine.channel();
  const { platform } = machine;
  const dir = tempDir();
  const headers = { authorization: `Bearer ${platform.token.reveal()}` };
  const toUrl = (operation: string, path: string) =>
    `${platform.url}/v1/sprites/dev-1/fs/${operation}?${new URLSearchParams({ path, workingDir: dir })}`;
  return {
    machine,
    dir,
    lanes: () => platform.log.filter(({ message }) => message === LANE).length,
    write: (path: string, body: Buffer<ArrayBuffer>) => fetch(toUrl('write', path), { method: 'PUT', headers, body }),
    read: (path: string, more: Readonly<Record<string, string>> = {}) =>
      fetch(toUrl('read', path), { headers: { ...headers, ...more } }),
  };
}

test('a large file arrives as it was sent, and so does a part of it', async () => {
  const { write, read, dir, lanes, machine } = await openSprite();
  const content = randomBytes(20_000_000);
  const written = await write('file', content);
  expect([written.status, await written.json()]).toEqual([
    200,
    { path: join(dir, 'file'), size: content.length, mode: '0644' },
  ]);
  expect(readFileSync(join(dir, 'file')).equals(content)).toBe(true);
  expect(lanes()).toBe(1);

  const whole = await read('file');
  expect(whole.headers.get('etag')).toMatch(/"/);
  expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true);
  expect(lanes()).toBe(2);

  const part = await read('file', { range: 'bytes=1000000-9999999' });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 1000000-9999999/20000000']);
  expect(Buffer.from(await part.arrayBuffer()).equals(content.subarray(1_000_000, 10_000_000))).toBe(true);
  expect(lanes()).toBe(3);

  const short = await read('file', { range: 'bytes=0-9' });
  expect((await short.arrayBuffer()).byteLength).toBe(10);
  const known = await read('file', { 'if-none-match': whole.headers.get('etag') ?? '' });
  expect([known.status, lanes()]).toEqual([304, 3]);
  await eventually(async () => (await machine.channel()).streams <= 2 || undefined);
});

test('what is wrong with a large file is an error as for a small one', async () => {
  const { write, dir } = await openSprite();
  const refused = await write('.', Buffer.alloc(5_000_000));
  expect([refused.status, await refused.json()]).toMatchObject([400, { code: 'EISDIR', path: dir }]);
  expect(statSync(dir).isDirectory()).toBe(true);
});
