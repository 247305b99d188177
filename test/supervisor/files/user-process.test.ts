// The process that works on files as the user: it is the user and nothing more, and its end is noticed.
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { loudly } from '../../support/loudly.ts';
import { isRoot, otherUser, serveFiles } from '../../support/serve-files.ts';
import { signalRunning } from '../../support/signal-running.ts';

function statusOf(pid: number): Map<string, string> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').split('\n');
  return new Map(lines.map((line) => [line.split(':')[0] ?? '', line.slice(line.indexOf(':') + 1).trim()]));
}

describe.skipIf(loudly(!isRoot, 'a process of another user: this is not root'))('the process of the user', () => {
  it('starts at the first use, and nothing of root is left in any of its threads', async () => {
    const { home, room, get } = await serveFiles(otherUser());
    expect(room.userProcess).toBeUndefined();
    expect((await get('list', { path: '.' })).status).toBe(200);
    const pid = room.userProcess ?? 0;
    const { uid, gid } = otherUser();
    const status = statusOf(pid);
    expect(status.get('Uid')?.split(/\s+/)).toEqual(Array(4).fill(String(uid)));
    expect(status.get('Gid')?.split(/\s+/)).toEqual(Array(4).fill(String(gid)));
    expect(status.get('Groups')?.split(/\s+/)).not.toContain('0');
    expect(status.get('CapEff')).toMatch(/^0+$/);
    expect(status.get('CapPrm')).toMatch(/^0+$/);
    expect(status.get('Umask')).toBe('0022');
    expect(
      readFileSync(`/proc/${pid}/environ`, 'utf8')
        .split('\0')
        .filter((text) => /^(?!NODE_CHANNEL_)./.test(text)),
    ).toEqual([`NODE_COMPILE_CACHE=${process.env.NODE_COMPILE_CACHE}`]);
    const socketOfUser = join(home, '../state/files.sock');
    expect(statSync(socketOfUser)).toMatchObject({ uid: 0 });
    expect(statSync(socketOfUser).mode & 0o777).toBe(0o600);
  });

  it('may do what the user may, and no more', async () => {
    const { home, get, put } = await serveFiles(otherUser());
    writeFileSync(join(home, '../roots'), 'secret', { mode: 0o600 });
    for (const path of ['../roots', '/etc/shadow']) {
      expect((await get('read', { path })).json, path).toMatchObject({ error: 'forbidden', code: 'EACCES' });
      expect((await put({ path }, 'x')).status, path).toBe(403);
    }
    expect((await put({ path: '../new' }, 'x')).json).toMatchObject({ code: 'EACCES' });
    expect((await get('delete', { path: '../roots' }, { method: 'DELETE' })).status).toBe(403);
    expect(readFileSync(join(home, '../roots'), 'utf8')).toBe('secret');
  });

  it('is started again after it was killed, also by its user', async () => {
    const { room, get } = await serveFiles(otherUser());
    await get('list', { path: '.' });
    const first = room.userProcess ?? 0;
    signalRunning(first, 'SIGKILL');
    await eventually(() => room.userProcess === undefined);
    expect((await get('list', { path: '.' })).status).toBe(200);
    expect(room.userProcess).not.toBe(first);
  });

  it('ends when nothing uses it, and is there again for the next call', async () => {
    const { room, get } = await serveFiles(otherUser(), 50);
    await get('list', { path: '.' });
    await eventually(() => room.userProcess === undefined);
    expect((await get('list', { path: '.' })).status).toBe(200);
  });

  it('ends with the supervisor', async () => {
    const { room, get } = await serveFiles(otherUser());
    await get('list', { path: '.' });
    const pid = room.userProcess;
    signalRunning(pid, 0);
    await room[Symbol.asyncDispose]();
    expect(() => signalRunning(pid, 0)).toThrow('ESRCH');
  });
});
