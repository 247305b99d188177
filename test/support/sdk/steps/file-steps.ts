// What `SpriteFilesystem` and its watcher do.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FilesystemWatcher } from '@fly/sprites';
import { expect } from 'vitest';
import type { SdkStack, Steps } from '../sdk-stack.ts';

const filesOf = ({ sprite, dir }: SdkStack) => sprite.filesystem(dir);
const watch = (stack: SdkStack) => filesOf(stack).watch('.');

export const fileSteps: Steps = {
  'SpriteFilesystem.writeFile': async (stack) => await filesOf(stack).writeFile('a/b.txt', 'hello', { mode: 0o640 }),
  'SpriteFilesystem.readFile': async (stack) => {
    expect(await filesOf(stack).readFile('a/b.txt', 'utf8')).toBe('hello');
    await expect(filesOf(stack).readFile('none')).rejects.toMatchObject({ code: 'ENOENT' });
  },
  'SpriteFilesystem.readdir': async (stack) => expect(await filesOf(stack).readdir('a')).toEqual(['b.txt']),
  'SpriteFilesystem.mkdir': async (stack) => {
    await filesOf(stack).mkdir('deep/er', { recursive: true });
    expect(await filesOf(stack).readdir('deep')).toEqual(['er']);
  },
  'SpriteFilesystem.stat': async (stack) => {
    expect(await filesOf(stack).stat('a/b.txt')).toMatchObject({ size: 5, mode: 0o640 });
    expect((await filesOf(stack).stat('deep')).isDirectory()).toBe(true);
  },
  'SpriteFilesystem.exists': async (stack) => {
    expect([await filesOf(stack).exists('a/b.txt'), await filesOf(stack).exists('none')]).toEqual([true, false]);
  },
  'SpriteFilesystem.appendFile': async (stack) => {
    await filesOf(stack).appendFile('a/b.txt', ' there');
    expect(await filesOf(stack).readFile('a/b.txt', 'utf8')).toBe('hello there');
  },
  'SpriteFilesystem.copyFile': async (stack) => {
    await filesOf(stack).copyFile('a/b.txt', 'a/c.txt');
    await filesOf(stack).copyFile('a', 'tree', { recursive: true });
    expect(await filesOf(stack).readdir('tree')).toEqual(['b.txt', 'c.txt']);
  },
  'SpriteFilesystem.rename': async (stack) => {
    await filesOf(stack).rename('a/c.txt', 'a/d.txt');
    expect(await filesOf(stack).readdir('a')).toEqual(['b.txt', 'd.txt']);
  },
  'SpriteFilesystem.chmod': async (stack) => {
    await filesOf(stack).chmod('a/d.txt', 0o600);
    expect((await filesOf(stack).stat('a/d.txt')).mode).toBe(0o600);
  },
  'SpriteFilesystem.chown': async (stack) => {
    const uid = process.getuid?.() ?? 0;
    await filesOf(stack).chown('a/d.txt', { uid, asRoot: uid === 0 });
  },
  'SpriteFilesystem.writeJSON': async (stack) => await filesOf(stack).writeJSON('e.json', { one: 1 }, { spaces: 2 }),
  'SpriteFilesystem.readJSON': async (stack) => expect(await filesOf(stack).readJSON('e.json')).toEqual({ one: 1 }),
  'SpriteFilesystem.rm': async (stack) => {
    await filesOf(stack).rm('tree', { recursive: true });
    await filesOf(stack).rm('tree', { force: true });
    expect(await filesOf(stack).exists('tree')).toBe(false);
  },
  'SpriteFilesystem.watch': async (stack) => (await watch(stack)).close(),
  'FilesystemWatcher.connect': async ({ client, sprite, dir }) => {
    const watcher = new FilesystemWatcher(client, sprite.name, ['.'], dir, false);
    await watcher.connect();
    expect(await watcher.next()).toMatchObject({ type: 'subscribed' });
    watcher.close();
  },
  'FilesystemWatcher.next': async (stack) => {
    mkdirSync(join(stack.dir, 'seen'));
    const watcher = await filesOf(stack).watch('seen');
    expect(await watcher.next()).toMatchObject({ type: 'subscribed' });
    writeFileSync(join(stack.dir, 'seen/x'), '1');
    expect(await watcher.next()).toMatchObject({ type: 'event', event: 'create' });
    watcher.close();
  },
  'FilesystemWatcher.close': async (stack) => {
    const watcher = await watch(stack);
    await watcher.next();
    watcher.close();
    expect(await watcher.next()).toBeNull();
  },
  'FilesystemWatcher.isClosed': async (stack) => {
    const watcher = await watch(stack);
    expect(watcher.isClosed()).toBe(false);
    watcher.close();
    expect(watcher.isClosed()).toBe(true);
  },
  'FilesystemWatcher.@@asyncIterator': async (stack) => {
    for await (const { type } of await watch(stack)) {
      expect(type).toBe('subscribed');
      break;
    }
  },
};
