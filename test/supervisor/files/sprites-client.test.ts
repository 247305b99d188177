// Every method of the file system of a client of the Sprites API, unchanged, against the file operations.

import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { SpritesClient } from '@fly/sprites';
import { expect, it } from 'vitest';
import { isRoot, otherUser, ownUser, serveFiles } from '../../support/serve-files.ts';
import { openSpriteDoor } from '../../support/sprite-door.ts';

async function openFileSystem(user = ownUser()) {
  const { socket, home } = await serveFiles(user);
  const client = new SpritesClient('token', { baseURL: await openSpriteDoor(socket) });
  return { home, files: client.sprite('any').filesystem(home) };
}

it.each(isRoot ? [ownUser, otherUser] : [ownUser])('files and directories', async (user) => {
  const { home, files } = await openFileSystem(user());
  await files.writeFile('a/b.txt', 'hello', { mode: 0o640 });
  expect(await files.readFile('a/b.txt', 'utf8')).toBe('hello');
  expect(statSync(join(home, 'a/b.txt')).mode & 0o777).toBe(0o640);
  await files.appendFile('a/b.txt', ' there');
  await files.appendFile('log', Buffer.from([0, 255]));
  expect(await files.readFile('log', null)).toEqual(Buffer.from([0, 255]));
  await files.writeJSON('x.json', { a: 1 });
  expect(await files.readJSON('x.json')).toEqual({ a: 1 });
  await files.mkdir('deep/er', { recursive: true });
  expect(existsSync(join(home, 'deep/er'))).toBe(true);
  expect(await files.readdir('deep/er')).toEqual([]);
  expect(await files.readdir('.')).toEqual(['a', 'deep', 'log', 'x.json']);
  const entries = await files.readdir('.', { withFileTypes: true });
  expect(entries.map((entry) => entry.isDirectory())).toEqual([true, true, false, false]);
  expect(await files.stat('a/b.txt')).toMatchObject({ size: 11, mode: 0o640 });
  expect([(await files.stat('.')).isDirectory(), await files.exists('a/b.txt'), await files.exists('no')]).toEqual([
    true,
    true,
    false,
  ]);
  await files.rename('a/b.txt', 'a/c.txt');
  await files.copyFile('a/c.txt', 'copy.txt');
  await files.copyFile('a', 'tree', { recursive: true });
  expect(readFileSync(join(home, 'tree/c.txt'), 'utf8')).toBe('hello there');
  await files.chmod('copy.txt', 0o600);
  expect(statSync(join(home, 'copy.txt')).mode & 0o777).toBe(0o600);
  await files.rm('tree', { recursive: true });
  await files.rm('tree', { force: true });
  expect(existsSync(join(home, 'tree'))).toBe(false);
});

it('errors have the codes of the system', async () => {
  const { home, files } = await openFileSystem();
  mkdirSync(join(home, 'full/x'), { recursive: true });
  await expect(files.readFile('no')).rejects.toMatchObject({ code: 'ENOENT', path: `${home}/no` });
  await expect(files.readFile('full')).rejects.toMatchObject({ code: 'EISDIR' });
  await expect(files.rm('full')).rejects.toMatchObject({ code: 'ENOTEMPTY' });
  await expect(files.chown('full', { uid: 1 })).rejects.toMatchObject({ code: 'EPERM' });
  await expect(files.rm('full', { asRoot: true, recursive: true })).rejects.toMatchObject({ code: 'EPERM' });
});

it('watches', async () => {
  const { home, files } = await openFileSystem();
  const watcher = await files.watch('.', { recursive: true });
  expect(await watcher.next()).toEqual({ type: 'subscribed', paths: [home] });
  await files.writeFile('x', 'hello');
  expect(await watcher.next()).toMatchObject({ type: 'event', event: 'create', path: `${home}/x`, size: 5 });
  watcher.close();
});
