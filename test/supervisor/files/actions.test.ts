// The file operations as a caller of the socket sees them, once in the process of the supervisor and once in the process of another user.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  chmodResponse,
  chownResponse,
  copyResponse,
  deleteResponse,
  fileError,
  fileListResponse,
  renameResponse,
  writeResponse,
} from '../../../src/contract/files.ts';
import { eventually } from '../../support/eventually.ts';
import { loudly } from '../../support/loudly.ts';
import { asRootAllowed, isRoot, otherUser, ownUser, serveFiles } from '../../support/serve-files.ts';

const noRoot = loudly(!isRoot, 'files of another user: this is not root');
const ways = [
  { way: 'in this process', user: ownUser },
  { way: 'in a process of another user', user: otherUser },
].slice(0, noRoot ? 1 : 2);

describe.each(ways)('files $way', ({ user }) => {
  const serve = () => serveFiles(user());

  it('are written and read with the same bytes, and belong to the user', async () => {
    const { home, put, get } = await serve();
    const bytes = Buffer.from('naïve\0\n'.repeat(50_000));
    const written = await put({ path: 'a/b/c.bin', mkdirParents: 'true' }, bytes);
    expect(written.status).toBe(200);
    expect(writeResponse.parse(written.json)).toEqual({ path: `${home}/a/b/c.bin`, size: bytes.length, mode: '0644' });
    expect(readFileSync(join(home, 'a/b/c.bin')).equals(bytes)).toBe(true);
    for (const path of ['a', 'a/b', 'a/b/c.bin']) expect(statSync(join(home, path)).uid).toBe(user().uid);
    expect(statSync(join(home, 'a/b')).mode & 0o777).toBe(0o755);
    const read = await get('read', { path: 'a/b/c.bin' });
    expect(read.status).toBe(200);
    expect(read.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': String(bytes.length),
    });
    expect(read.text).toBe(bytes.toString());
    expect(readdirSync(join(home, 'a/b'))).toEqual(['c.bin']);
  });

  it('are empty when nothing was sent, and grow by what is appended', async () => {
    const { home, put } = await serve();
    expect((await put({ path: 'log' }, '')).json).toMatchObject({ size: 0 });
    expect((await put({ path: 'log', append: 'true' }, 'one\n')).json).toMatchObject({ size: 4 });
    expect((await put({ path: 'log', append: 'true' }, 'two\n')).json).toMatchObject({ size: 8 });
    expect(readFileSync(join(home, 'log'), 'utf8')).toBe('one\ntwo\n');
  });

  it('keep mode and owner when they are replaced, and take a mode that is asked for', async () => {
    const { home, put } = await serve();
    await put({ path: 'x', mode: '0750' }, 'old');
    expect(statSync(join(home, 'x')).mode & 0o7777).toBe(0o750);
    expect((await put({ path: 'x' }, 'new')).json).toMatchObject({ mode: '0750' });
    expect(statSync(join(home, 'x'))).toMatchObject({ uid: user().uid, gid: user().gid });
    expect(statSync(join(home, 'x')).mode & 0o7777).toBe(0o750);
    expect(readFileSync(join(home, 'x'), 'utf8')).toBe('new');
  });

  it('are written through a link, also through one that leads nowhere yet', async () => {
    const { home, put } = await serve();
    await put({ path: 'target' }, 'old');
    symlinkSync('target', join(home, 'link'));
    symlinkSync('later', join(home, 'dangling'));
    expect((await put({ path: 'link' }, 'new')).status).toBe(200);
    expect((await put({ path: 'dangling' }, 'made')).status).toBe(200);
    expect(readlinkSync(join(home, 'link'))).toBe('target');
    expect(readFileSync(join(home, 'target'), 'utf8')).toBe('new');
    expect(readFileSync(join(home, 'later'), 'utf8')).toBe('made');
  });

  it('are found through links and dots', async () => {
    const { home, put, get } = await serve();
    await put({ path: 'deep/er/x', mkdirParents: 'true' }, 'found');
    symlinkSync(join(home, 'deep/er'), join(home, 'way'));
    symlinkSync('loop', join(home, 'loop'));
    for (const path of ['way/x', 'way/../er/./x', './/deep/er/x', `${home}/way/x`, '../home/way/x']) {
      expect((await get('read', { path })).text, path).toBe('found');
    }
    expect((await get('read', { path: 'loop' })).json).toMatchObject({ code: 'ELOOP' });
    expect((await get('read', { path: 'deep/er/x/' })).json).toMatchObject({ code: 'ENOTDIR' });
  });

  it('answer errors with the code of the system and the path', async () => {
    const { home, get, put, post } = await serve();
    mkdirSync(join(home, 'full/dir'), { recursive: true });
    writeFileSync(join(home, 'file'), '');
    const cases = [
      [await get('read', { path: 'none' }), 404, 'not_found', 'ENOENT', 'none'],
      [await get('read', { path: 'full' }), 400, 'invalid_request', 'EISDIR', 'full'],
      [await get('read', { path: 'file/x' }), 400, 'invalid_request', 'ENOTDIR', 'file/x'],
      [await get('read', { path: 'n'.repeat(300) }), 400, 'invalid_request', 'ENAMETOOLONG', 'n'.repeat(300)],
      [await get('list', { path: 'none' }), 404, 'not_found', 'ENOENT', 'none'],
      [await put({ path: 'none/x' }, 'x'), 404, 'not_found', 'ENOENT', 'none/x'],
      [await put({ path: 'full' }, 'x'), 400, 'invalid_request', 'EISDIR', 'full'],
      [await get('delete', { path: 'full' }, { method: 'DELETE' }), 409, 'conflict', 'ENOTEMPTY', 'full'],
      [await get('delete', { path: 'none' }, { method: 'DELETE' }), 404, 'not_found', 'ENOENT', 'none'],
      [await post('rename', { source: 'none', dest: 'x' }), 404, 'not_found', 'ENOENT', 'none'],
      [await post('rename', { source: 'file', dest: 'full' }), 400, 'invalid_request', 'EISDIR', 'full'],
      [await post('copy', { source: 'full', dest: 'x' }), 400, 'invalid_request', 'EISDIR', 'full'],
      [await post('copy', { source: 'none', dest: 'x' }), 404, 'not_found', 'ENOENT', 'none'],
      [await post('chmod', { path: 'none', mode: '644' }), 404, 'not_found', 'ENOENT', 'none'],
      [
        await post('chown', { path: 'file', uid: 'nobody-at-all' }, { headers: asRootAllowed }),
        400,
        'invalid_request',
        'EINVAL',
        'file',
      ],
      [
        await post('chown', { path: 'file', uid: {} }, { headers: asRootAllowed }),
        400,
        'invalid_request',
        'EINVAL',
        'file',
      ],
    ] as const;
    for (const [answer, status, error, code, path] of cases) {
      const body = fileError.parse(answer.json);
      expect({ status: answer.status, ...body }).toMatchObject({ status, error, code, path: `${home}/${path}` });
      expect(body.message).not.toContain('/proc/');
    }
  });

  it('of a directory are its children, directories first', async () => {
    const { home, put, get } = await serve();
    await put({ path: 'b.txt' }, 'hello');
    await put({ path: 'z/inner.txt', mkdirParents: 'true' }, '');
    utimesSync(join(home, 'b.txt'), 1_700_000_000, 1_700_000_000);
    symlinkSync('z', join(home, 'a'));
    execFileSync('mkfifo', [join(home, 'pipe')]);
    const server = createServer().listen(join(home, 'sock'));
    onTestFinished(() => void server.close());
    await eventually(() => existsSync(join(home, 'sock')));
    const list = fileListResponse.parse((await get('list', { path: '.' })).json);
    expect(list).toMatchObject({ path: home, count: 5 });
    expect(list.entries.map(({ name, type, isDir }) => [name, type, isDir])).toEqual([
      ['z', 'directory', true],
      ['a', 'symlink', false],
      ['b.txt', 'file', false],
      ['pipe', 'fifo', false],
      ['sock', 'socket', false],
    ]);
    expect(list.entries[2]).toEqual({
      name: 'b.txt',
      path: `${home}/b.txt`,
      type: 'file',
      size: 5,
      mode: '0644',
      modTime: '2023-11-14T22:13:20.000Z',
      isDir: false,
    });
    const one = fileListResponse.parse((await get('list', { path: 'b.txt' })).json);
    expect(one.entries.map(({ name, path }) => [name, path])).toEqual([['b.txt', `${home}/b.txt`]]);
    for (const path of ['pipe', 'sock', '/dev/null']) {
      expect((await get('read', { path })).json, path).toMatchObject({ code: 'EINVAL' });
      expect((await put({ path }, 'x')).json, path).toMatchObject({ code: 'EINVAL' });
    }
    expect(
      connect(join(home, 'sock'))
        .on('error', () => undefined)
        .destroy(),
    ).toBeDefined();
  });

  it('are listed with those below, and by a pattern', async () => {
    const { put, get } = await serve();
    for (const path of ['a.ts', 'b.js', 'src/c.ts', 'src/deep/d.ts', '.hidden']) {
      await put({ path, mkdirParents: 'true' }, '');
    }
    const names = async (query: Readonly<Record<string, string>>) =>
      fileListResponse.parse((await get('list', { path: '.', ...query })).json).entries.map(({ name }) => name);
    expect(await names({ recursive: 'true' })).toEqual([
      'src',
      'src/deep',
      'src/deep/d.ts',
      'src/c.ts',
      '.hidden',
      'a.ts',
      'b.js',
    ]);
    expect(await names({ pattern: '*.ts' })).toEqual(['a.ts']);
    expect(await names({ pattern: '*.ts', recursive: 'true' })).toEqual(['src/deep/d.ts', 'src/c.ts', 'a.ts']);
    expect(await names({ pattern: 'src/*.ts', recursive: 'true' })).toEqual(['src/c.ts']);
  });

  it('with names that are not UTF-8 are listed as unusable, and go with their directory', async () => {
    const { home, get, post } = await serve();
    mkdirSync(join(home, 'd'));
    const name = Buffer.concat([Buffer.from(join(home, 'd/')), Buffer.from([0x66, 0xff, 0xfe])]);
    writeFileSync(name, 'x');
    if (isRoot) execFileSync('chown', ['-R', String(user().uid), join(home, 'd')]);
    const { entries } = fileListResponse.parse((await get('list', { path: 'd' })).json);
    expect(entries).toMatchObject([{ name: 'f\ufffd\ufffd', type: 'file', size: 1, unusable: true }]);
    expect((await get('read', { path: entries[0]?.path ?? '' })).json).toMatchObject({ code: 'ENOENT' });
    expect((await post('copy', { source: 'd', dest: 'e', recursive: true })).json).toMatchObject({ count: 2 });
    expect(readdirSync(join(home, 'e'), { encoding: 'buffer' })).toEqual([Buffer.from([0x66, 0xff, 0xfe])]);
    expect((await get('delete', { path: 'd', recursive: 'true' }, { method: 'DELETE' })).json).toMatchObject({
      count: 2,
    });
    expect(existsSync(join(home, 'd'))).toBe(false);
  });

  it('are deleted with all that is in a directory, and links only themselves', async () => {
    const { home, put, get } = await serve();
    await put({ path: 'keep/x', mkdirParents: 'true' }, '');
    await put({ path: 'go/on/y', mkdirParents: 'true' }, '');
    symlinkSync('../keep', join(home, 'go/link'));
    const deleted = await get('delete', { path: 'go', recursive: 'true' }, { method: 'DELETE' });
    const body = deleteResponse.parse(deleted.json);
    expect(body.count).toBe(4);
    expect([...body.deleted].sort()).toEqual(['go', 'go/link', 'go/on', 'go/on/y'].map((path) => `${home}/${path}`));
    expect(body.deleted.at(-1)).toBe(`${home}/go`);
    expect(existsSync(join(home, 'keep/x'))).toBe(true);
    mkdirSync(join(home, 'keep/empty'));
    expect((await get('delete', { path: 'keep/empty/..//empty' }, { method: 'DELETE' })).status).toBe(200);
    symlinkSync('keep', join(home, 'l'));
    expect((await get('delete', { path: 'l', recursive: 'true' }, { method: 'DELETE' })).status).toBe(200);
    expect(readdirSync(home)).toEqual(['keep']);
    for (const path of ['/', '/..', '/tmp/..']) {
      expect((await get('delete', { path, recursive: 'true' }, { method: 'DELETE' })).json).toMatchObject({
        code: 'EBUSY',
      });
    }
  });

  it('are renamed over what is there', async () => {
    const { home, put, post } = await serve();
    await put({ path: 'a' }, 'new');
    await put({ path: 'b' }, 'old');
    expect(renameResponse.parse((await post('rename', { source: 'a', dest: 'b' })).json)).toEqual({
      source: `${home}/a`,
      dest: `${home}/b`,
    });
    expect(readdirSync(home)).toEqual(['b']);
    expect(readFileSync(join(home, 'b'), 'utf8')).toBe('new');
  });

  it('are copied with their tree; links stay links', async () => {
    const { home, put, post } = await serve();
    await put({ path: 'a/run.sh', mkdirParents: 'true', mode: '0755' }, 'one');
    await put({ path: 'a/deep/x', mkdirParents: 'true' }, 'three');
    symlinkSync('/etc', join(home, 'a/out'));
    execFileSync('mkfifo', [join(home, 'a/pipe')]);
    const answer = await post('copy', { source: 'a', dest: 'b', recursive: true });
    const body = copyResponse.parse(answer.json);
    expect(body).toMatchObject({ count: 5, totalBytes: 8, skipped: [`${home}/a/pipe`] });
    expect(readFileSync(join(home, 'b/deep/x'), 'utf8')).toBe('three');
    expect(readlinkSync(join(home, 'b/out'))).toBe('/etc');
    expect(statSync(join(home, 'b/run.sh')).mode & 0o777).toBe(0o755);
    expect(statSync(join(home, 'b')).uid).toBe(user().uid);
    expect((await post('copy', { source: 'a', dest: 'a/deep/in', recursive: true })).json).toMatchObject({
      code: 'EINVAL',
    });
    expect((await post('copy', { source: 'b/run.sh', dest: 'b/run.sh' })).json).toMatchObject({ code: 'EINVAL' });
    utimesSync(join(home, 'b/run.sh'), 1_000, 1_000);
    expect((await post('copy', { source: 'b/run.sh', dest: 'kept', preserveAttrs: true })).status).toBe(200);
    expect(statSync(join(home, 'kept')).mtimeMs).toBe(1_000_000);
  });

  it('change their mode, and those in a directory, but no target of a link', async () => {
    const { home, put, post } = await serve();
    await put({ path: 'd/x', mkdirParents: 'true' }, '');
    await put({ path: 'outside' }, '');
    symlinkSync('../outside', join(home, 'd/link'));
    const body = chmodResponse.parse((await post('chmod', { path: 'd', mode: '0700', recursive: true })).json);
    expect(body).toEqual({
      affected: [
        { path: `${home}/d`, mode: '0700' },
        { path: `${home}/d/x`, mode: '0700' },
      ],
      count: 2,
    });
    expect(statSync(join(home, 'outside')).mode & 0o777).toBe(0o644);
    // The way in is closed after the content was changed.
    expect((await post('chmod', { path: 'd', mode: '000', recursive: true })).json).toMatchObject({ count: 2 });
    expect((await post('chmod', { path: 'd', mode: '755', recursive: true })).json).toMatchObject({ count: 2 });
    expect(statSync(join(home, 'd/x')).mode & 0o777).toBe(0o755);
    expect((await post('chmod', { path: 'd', mode: 'u+x' })).status).toBe(400);
  });

  it('change their owner only for a caller that may', async () => {
    const { home, put, post } = await serve();
    await put({ path: 'x' }, '');
    expect((await post('chown', { path: 'x', gid: user().gid })).json).toMatchObject({
      error: 'forbidden',
      code: 'EPERM',
    });
    const same = await post('chown', { path: 'x', uid: user().name, gid: user().gid }, { headers: asRootAllowed });
    expect(chownResponse.parse(same.json)).toEqual({
      affected: [{ path: `${home}/x`, uid: user().uid, gid: user().gid }],
      count: 1,
    });
    for (const operation of ['chmod', 'chown']) {
      const body = { path: 'x', mode: '600', uid: 0, asRoot: true };
      expect((await post(operation, body)).json, operation).toMatchObject({
        error: 'forbidden',
        code: 'EPERM',
        path: 'x',
      });
    }
  });

  it('with several names keep them apart when one is written', async () => {
    const { home, put } = await serve();
    await put({ path: 'one' }, 'old');
    linkSync(join(home, 'one'), join(home, 'two'));
    await put({ path: 'one' }, 'new');
    expect(readFileSync(join(home, 'two'), 'utf8')).toBe('old');
    chmodSync(join(home, 'two'), 0o444);
    expect(lstatSync(join(home, 'one')).nlink).toBe(1);
  });
});
