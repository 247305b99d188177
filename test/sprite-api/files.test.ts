// Files of a sprite from the platform, through the channel, the agent and the supervisor, by the client of the Sprites API.
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { tempDir } from '../support/temp-dir.ts';

async function openFiles() {
  const machine = await openAgentMachine({ trustMachines: true });
  const sprite = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url }).sprite('dev-1');
  const dir = tempDir();
  return { machine, dir, files: sprite.filesystem(dir) };
}

test('the client writes, reads, lists, copies, renames, changes and removes', async () => {
  const { files, dir } = await openFiles();
  await files.writeFile('a/b.txt', 'hello', { mode: 0o640 });
  expect(readFileSync(join(dir, 'a/b.txt'), 'utf8')).toBe('hello');
  expect(await files.readFile('a/b.txt', 'utf8')).toBe('hello');
  expect(await files.readdir('a')).toEqual(['b.txt']);
  expect(await files.exists('a/b.txt')).toBe(true);
  expect(await files.exists('a/c.txt')).toBe(false);
  await files.appendFile('a/b.txt', ' there');
  await files.copyFile('a/b.txt', 'a/c.txt');
  await files.rename('a/c.txt', 'a/d.txt');
  await files.chmod('a/d.txt', 0o600);
  expect((await files.stat('a/d.txt')).mode & 0o777).toBe(0o600);
  await files.mkdir('a/new', { recursive: true });
  await files.writeJSON('a/e.json', { one: 1 });
  expect(await files.readJSON('a/e.json')).toEqual({ one: 1 });
  await files.rm('a', { recursive: true });
  await expect(files.readFile('a/b.txt')).rejects.toMatchObject({ code: 'ENOENT' });
});

test('a watch tells of a change', async () => {
  const { files, dir } = await openFiles();
  mkdirSync(join(dir, 'seen'));
  const watcher = await files.watch('seen');
  const types: string[] = [];
  for await (const event of watcher as AsyncIterable<{ type: string }>) {
    types.push(event.type);
    if (event.type === 'subscribed') writeFileSync(join(dir, 'seen', 'x'), '1');
    if (event.type === 'event') break;
  }
  expect(types).toEqual(['subscribed', 'event']);
});

test('twenty megabytes come back as they went', async () => {
  const { files } = await openFiles();
  const content = randomBytes(20 * 1024 * 1024);
  await files.writeFile('large', content);
  const back = await files.readFile('large', null);
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  expect(hash(back as Buffer)).toBe(hash(content));
});

test('the same operations are on the socket of the agent, with code and path of an error', async () => {
  const { machine, dir } = await openFiles();
  const query = (path: string) => new URLSearchParams({ path, workingDir: dir });
  const written = await ask(machine.socket, { method: 'PUT', target: `/v1/fs/write?${query('f')}`, body: 'abc' });
  expect(written.json).toMatchObject({ path: join(dir, 'f'), size: 3 });
  const missing = await ask(machine.socket, { target: `/v1/fs/read?${query('g')}` });
  expect([missing.status, missing.json]).toEqual([
    404,
    expect.objectContaining({ code: 'ENOENT', path: join(dir, 'g') }),
  ]);
});
