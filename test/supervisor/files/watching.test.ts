// Watching files over a WebSocket: what happens is told with its name, and a watch that cannot go on says why.
import { appendFileSync, chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type FileWatchFrame, fileWatchFrame } from '../../../src/contract/files.ts';
import { eventually } from '../../support/eventually.ts';
import { loudly } from '../../support/loudly.ts';
import { isRoot, otherUser, ownUser, serveFiles } from '../../support/serve-files.ts';
import { openWebSocket } from '../../support/websocket-caller.ts';

const ways = [
  { way: 'in this process', user: ownUser },
  { way: 'in a process of another user', user: otherUser },
].slice(0, loudly(!isRoot, 'a watch of another user: this is not root') ? 1 : 2);

describe.each(ways)('a watch $way', ({ user }) => {
  async function openWatch(fields: Readonly<Record<string, unknown>> = {}) {
    const served = await serveFiles(user());
    const caller = await openWebSocket(served.socket, '/v1/fs/watch');
    const frames = (): FileWatchFrame[] =>
      caller.messages.map((text) => fileWatchFrame.parse(JSON.parse(String(text))));
    const subscribe = (more: Readonly<Record<string, unknown>> = {}) =>
      caller.socket.send(
        JSON.stringify({ type: 'subscribe', paths: ['.'], workingDir: served.home, ...fields, ...more }),
      );
    const told = (event: string, path: string) =>
      eventually(() => frames().find((each) => each.type === 'event' && each.event === event && each.path === path));
    return { ...served, caller, frames, subscribe, told };
  }

  it('tells of each kind of change', async () => {
    const { home, put, caller, frames, subscribe, told } = await openWatch({ paths: ['d'] });
    mkdirSync(join(home, 'd'));
    subscribe();
    await caller.received(1);
    expect(frames()[0]).toEqual({ type: 'subscribed', paths: [`${home}/d`] });
    const path = join(home, 'd/x');
    writeFileSync(path, '');
    expect(await told('create', path)).toMatchObject({ size: 0, isDir: false });
    appendFileSync(path, 'more');
    expect(await told('write', path)).toMatchObject({ size: 4 });
    chmodSync(path, 0o600);
    await told('chmod', path);
    renameSync(path, `${path}2`);
    await told('rename', path);
    await told('create', `${path}2`);
    rmSync(`${path}2`);
    await told('remove', `${path}2`);
    if (user === ownUser) {
      await put({ path: 'd/written' }, 'atomic');
      expect(await told('create', join(home, 'd/written'))).toMatchObject({ size: 6 });
    }
    expect(frames().filter((frame) => 'path' in frame && frame.path?.includes('.remora-'))).toEqual([]);
  });

  it('goes into directories that are made later, when it is recursive', async () => {
    const { home, caller, subscribe, told, frames } = await openWatch({ recursive: true });
    mkdirSync(join(home, 'old/deep'), { recursive: true });
    subscribe();
    await caller.received(1);
    writeFileSync(join(home, 'old/deep/x'), '');
    await told('create', join(home, 'old/deep/x'));
    mkdirSync(join(home, 'new/er'), { recursive: true });
    writeFileSync(join(home, 'new/er/first'), '');
    await told('create', join(home, 'new/er/first'));
    appendFileSync(join(home, 'new/er/first'), 'more');
    await told('write', join(home, 'new/er/first'));
    renameSync(join(home, 'new'), join(home, 'moved'));
    await told('rename', join(home, 'new'));
    await told('create', join(home, 'moved/er'));
    appendFileSync(join(home, 'moved/er/first'), 'more');
    await told('write', join(home, 'moved/er/first'));
    rmSync(join(home, 'moved'), { recursive: true });
    await told('remove', join(home, 'moved'));
    expect(frames().some((frame) => frame.type === 'error')).toBe(false);
  });

  it('of one file tells of that one alone, also when it is replaced', async () => {
    const { home, caller, subscribe, told, frames, put } = await openWatch({ paths: ['x'] });
    await put({ path: 'x' }, 'old');
    subscribe();
    await caller.received(1);
    writeFileSync(join(home, 'y'), '');
    await put({ path: 'x' }, 'newer');
    expect(await told('write', join(home, 'x'))).toMatchObject({ size: 5 });
    rmSync(join(home, 'x'));
    await told('remove', join(home, 'x'));
    expect(frames().filter((frame) => 'path' in frame && frame.path === join(home, 'y'))).toEqual([]);
  });

  it('tells of the end of what it watches', async () => {
    const { home, caller, subscribe, told } = await openWatch({ paths: ['d'] });
    mkdirSync(join(home, 'd'));
    subscribe();
    await caller.received(1);
    rmSync(join(home, 'd'), { recursive: true });
    await told('remove', join(home, 'd'));
  });

  it('that cannot begin says why and ends', async () => {
    const { home, caller, subscribe, frames } = await openWatch({ paths: ['none'] });
    subscribe();
    expect(await caller.closed).toEqual({ code: 1008, reason: 'not_found' });
    expect(frames()).toMatchObject([{ type: 'error', path: `${home}/none` }]);
  });

  it.skipIf(user !== ownUser)('drops a caller that does not read; another one hears of every file', async () => {
    const { home, socket, caller, subscribe } = await openWatch();
    const heard = (name: string) => eventually(() => caller.messages.some((text) => text.includes(`/${name}"`)));
    // More than the queue of the kernel holds.
    const slow = await openWebSocket(socket, '/v1/fs/watch');
    slow.socket.send(JSON.stringify({ type: 'subscribe', paths: ['.'], workingDir: home }));
    subscribe();
    await Promise.all([caller.received(1), slow.received(1)]);
    slow.socket.pause();
    const count = 20_000;
    for (let index = 0; index < count; index += 1) writeFileSync(join(home, `file-${index}`), '');
    await heard(`file-${count - 1}`);
    // Its own look at the files may come a little later.
    writeFileSync(join(home, 'last'), '');
    await heard('last');
    expect(caller.messages.length).toBeGreaterThanOrEqual(count + 2);
    // The five seconds after which it is taken to be stalled.
    await sleep(6_000);
    slow.socket.resume();
    expect([1006, 1008]).toContain((await slow.closed).code);
    expect(slow.messages.length).toBeLessThan(count);
  });

  it('refuses a frame that is none', async () => {
    const { caller, subscribe, frames } = await openWatch();
    subscribe({ paths: 'not a list' });
    expect(await caller.closed).toMatchObject({ code: 1008 });
    expect(frames()).toMatchObject([{ type: 'error' }]);
  });
});
