// A write that does not come to its end leaves what was there, and nothing beside it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type ClientRequest, request } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ask } from '../../support/ask.ts';
import { eventually } from '../../support/eventually.ts';
import { loudly } from '../../support/loudly.ts';
import { isRoot, otherUser, ownUser, serveFiles } from '../../support/serve-files.ts';
import { tempDir } from '../../support/temp-dir.ts';

const users = loudly(!isRoot, 'writes of another user: this is not root') ? [ownUser] : [ownUser, otherUser];

/** A write whose body is still coming. */
function beginWrite(
  socket: string,
  home: string,
  query: Readonly<Record<string, string>>,
  headers = {},
): ClientRequest {
  const target = `/v1/fs/write?${new URLSearchParams({ workingDir: home, ...query })}`;
  const call = request({ socketPath: socket, method: 'PUT', path: target, headers });
  call.on('error', () => undefined);
  return call;
}

const hasTemporary = (dir: string) => readdirSync(dir).some((name) => name.startsWith('.remora-write-'));

it.each(users)('whose caller goes away, or whose body is cut short', async (user) => {
  const { socket, home, put } = await serveFiles(user());
  await put({ path: 'x' }, 'old');
  for (const headers of [{}, { 'content-length': '1000000' }]) {
    const call = beginWrite(socket, home, { path: 'x' }, headers);
    call.write(Buffer.alloc(200_000));
    await eventually(() => hasTemporary(home));
    call.destroy();
    await eventually(() => !hasTemporary(home));
    expect(readFileSync(join(home, 'x'), 'utf8')).toBe('old');
  }
  const appending = beginWrite(socket, home, { path: 'x', append: 'true' });
  appending.write(Buffer.alloc(2_000_000));
  await eventually(() => statSync(join(home, 'x')).size > 3);
  appending.destroy();
  await eventually(() => statSync(join(home, 'x')).size === 3);
  expect(readdirSync(home)).toEqual(['x']);
});

it.each(users)('that is refused before its body was asked for', async (user) => {
  const { socket, home } = await serveFiles(user());
  const call = beginWrite(socket, home, { path: 'none/x' }, { expect: '100-continue', 'content-length': '5' });
  let wasAsked = false;
  call.once('continue', () => {
    wasAsked = true;
  });
  call.flushHeaders();
  const [response] = await once(call, 'response');
  expect([response.statusCode, wasAsked]).toEqual([404, false]);
  response.resume();
  const fine = beginWrite(socket, home, { path: 'x' }, { expect: '100-continue', 'content-length': '5' });
  fine.flushHeaders();
  await once(fine, 'continue');
  fine.end('whole');
  const [answer] = await once(fine, 'response');
  expect(answer.statusCode).toBe(200);
  answer.resume();
  expect(readFileSync(join(home, 'x'), 'utf8')).toBe('whole');
});

async function startFiles(socket: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/files-child.ts'), socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

it('whose process is killed at any moment: the old content or the new one, and nothing beside it after the next write', async () => {
  const dir = tempDir();
  const [home, socket] = [join(dir, 'home'), join(dir, 's')];
  mkdirSync(home);
  const contents = ['a', 'b'].map((letter) => letter.repeat(300_000));
  writeFileSync(join(home, 'x'), contents[0] ?? '');
  const target = `/v1/fs/write?${new URLSearchParams({ workingDir: home, path: 'x' })}`;
  let left = 0;
  for (let round = 0; round < 8; round += 1) {
    const child = await startFiles(socket);
    let isOver = false;
    const writing = (async () => {
      for (let index = 0; !isOver; index += 1) {
        await ask(socket, { method: 'PUT', target, body: contents[index % 2] ?? '' }).catch(() => undefined);
      }
    })();
    await eventually(() => hasTemporary(home));
    child.kill('SIGKILL');
    await once(child, 'exit');
    isOver = true;
    await writing;
    expect(contents.includes(readFileSync(join(home, 'x'), 'utf8'))).toBe(true);
    if (hasTemporary(home)) left += 1;
  }
  expect(left).toBeGreaterThan(0);
  await startFiles(socket);
  expect((await ask(socket, { method: 'PUT', target, body: 'new' })).status).toBe(200);
  expect(readdirSync(home)).toEqual(['x']);
});

/** A small file system of its own; undefined where none can be mounted. */
function mountSmall(home: string): string | undefined {
  const path = join(home, 'small');
  mkdirSync(path);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=1777', 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', path]));
  return path;
}

it.each(users)('on a full disk is 507, and a move to it leaves all where it was', async (user) => {
  const { home, put, post } = await serveFiles(user());
  const small = mountSmall(home);
  if (loudly(small === undefined, 'a full disk: no file system can be mounted') || small === undefined) return;
  expect((await put({ path: 'small/x' }, 'old')).status).toBe(200);
  const big = Buffer.alloc(4 * 1024 * 1024);
  for (const append of ['false', 'true']) {
    const refused = await put({ path: 'small/x', append }, big);
    expect(refused.status).toBe(507);
    expect(refused.json).toMatchObject({ error: 'storage_full', code: 'ENOSPC', path: `${home}/small/x` });
    expect(readFileSync(join(small, 'x'), 'utf8')).toBe('old');
  }
  await put({ path: 'dir/big', mkdirParents: 'true' }, big);
  expect((await post('rename', { source: 'dir', dest: 'small/dir' })).json).toMatchObject({ code: 'ENOSPC' });
  expect(statSync(join(home, 'dir/big')).size).toBe(big.length);
  expect(readdirSync(small)).toEqual(['x']);
  await put({ path: 'dir/big' }, 'little');
  expect((await post('rename', { source: 'dir', dest: 'small/dir' })).status).toBe(200);
  expect(readFileSync(join(small, 'dir/big'), 'utf8')).toBe('little');
  expect(existsSync(join(home, 'dir'))).toBe(false);
});
