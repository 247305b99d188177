// Root in a tree that belongs to somebody else: nothing that its user has planted, or exchanges meanwhile, decides where root reads or
// writes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loudly } from '../../support/loudly.ts';
import { asRootAllowed, isRoot, otherUser, type ServedFiles, serveFiles } from '../../support/serve-files.ts';

const headers = asRootAllowed;
/** Each round makes nine calls. */
const ROUNDS = 60;

/** A directory of root with a file that only root reads. */
function makeVictim(home: string): string {
  const victim = join(dirname(home), 'victim');
  for (let round = 0; round < ROUNDS; round += 1)
    mkdirSync(join(victim, `sub${round}`), { recursive: true, mode: 0o700 });
  writeFileSync(join(victim, 'x'), 'secret', { mode: 0o600 });
  writeFileSync(join(victim, 'sub0/y'), 'secret', { mode: 0o600 });
  return victim;
}

function describeVictim(victim: string): unknown {
  return readdirSync(victim, { recursive: true, encoding: 'utf8' })
    .sort()
    .concat('.')
    .map((name) => {
      const { uid, gid, mode } = statSync(join(victim, name));
      return [name, uid, gid, mode];
    });
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}

/** Each operation on `d/x` or on `d/sub` and a number. */
function callAll({ home, get, put, post }: ServedFiles, round = 0) {
  const q = { asRoot: 'true' };
  const { uid } = otherUser();
  return [
    () => get('read', { path: 'd/x', ...q }, { headers }),
    () => get('list', { path: 'd', recursive: 'true', ...q }, { headers }),
    () => put({ path: 'd/x', ...q }, 'written', { headers }),
    () => put({ path: 'd/x', append: 'true', ...q }, 'more', { headers }),
    () => post('chmod', { path: 'd', mode: '0777', recursive: true, asRoot: true }, { headers }),
    () => post('chown', { path: 'd', uid, recursive: true, asRoot: true }, { headers }),
    () => get('delete', { path: `d/sub${round}`, recursive: 'true', ...q }, { method: 'DELETE', headers }),
    () => post('copy', { source: 'd', dest: 'copies', recursive: true, asRoot: true }, { headers }),
    () => post('rename', { source: 'd/x', dest: `${home}/taken`, asRoot: true }, { headers }),
  ];
}

describe.skipIf(loudly(!isRoot, 'root in the tree of another user: this is not root'))('as root', () => {
  it('nothing is redirected while a process exchanges a directory and a link', async () => {
    const served = await serveFiles(otherUser());
    const { home } = served;
    const victim = makeVictim(home);
    const before = describeVictim(victim);
    const { uid, gid } = otherUser();
    for (let round = 0; round < ROUNDS; round += 1) mkdirSync(join(home, `d/sub${round}/y`), { recursive: true });
    writeFileSync(join(home, 'd/x'), 'own');
    symlinkSync(victim, join(home, 'link'));
    lchownSync(join(home, 'link'), uid, gid);
    const names = ['d', 'other', 'link'].map((name) => join(home, name));
    const child = spawn(process.execPath, [join(import.meta.dirname, '../../support/swap-child.ts'), ...names], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stdout, 'data');
    const statuses = new Map<number, number>();
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const call of callAll(served, round)) {
        const { status, text } = await call();
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        expect(text).not.toContain('secret');
      }
    }
    child.kill('SIGKILL');
    expect(describeVictim(victim)).toEqual(before);
    expect(readFileSync(join(victim, 'x'), 'utf8') + readFileSync(join(victim, 'sub0/y'), 'utf8')).toBe('secretsecret');
    // A link that came into the place of the directory may have been copied, as a link: nobody reads more through it than before.
    const copies = ['copies', 'taken'].map((name) => join(home, name)).filter((path) => !isLink(path));
    for (const path of copies.map((each) => (each.endsWith('copies') ? join(each, 'x') : each))) {
      if (existsSync(path)) expect(readFileSync(path, 'utf8')).not.toContain('secret');
    }
    // It was a race: both sides were met.
    expect(statuses.get(200)).toBeGreaterThan(50);
    expect((statuses.get(403) ?? 0) + (statuses.get(400) ?? 0)).toBeGreaterThan(50);
    expect(statuses.get(500) ?? 0).toBe(0);
  });

  it('links of a user are not followed, those of root are', async () => {
    const served = await serveFiles(otherUser());
    const { home, get, put, post } = served;
    const victim = makeVictim(home);
    const { uid, gid } = otherUser();
    symlinkSync(victim, join(home, 'd'));
    symlinkSync(join(victim, 'x'), join(home, 'last'));
    for (const link of ['d', 'last']) lchownSync(join(home, link), uid, gid);
    const calls = [
      ...callAll(served).filter((_, index) => index !== 1),
      () => get('read', { path: 'last', asRoot: 'true' }, { headers }),
      () => put({ path: 'last', asRoot: 'true' }, 'x', { headers }),
      () => post('chown', { path: 'last', uid, asRoot: true }, { headers }),
    ];
    for (const call of calls) expect((await call()).json).toMatchObject({ error: 'forbidden', code: 'EACCES' });
    expect(readFileSync(join(victim, 'x'), 'utf8')).toBe('secret');
    expect((await get('list', { path: '/bin/', asRoot: 'true' }, { headers })).status).toBe(200);
    expect((await get('read', { path: `${victim}/x`, asRoot: 'true' }, { headers })).text).toBe('secret');
    expect((await get('read', { path: `${victim}/x` }, { headers })).json).toMatchObject({ code: 'EACCES' });
    expect((await get('read', { path: `${victim}/x`, asRoot: 'true' })).json).toMatchObject({ code: 'EPERM' });
  });

  it.each(['copy', 'rename'])(
    'a link of a user that root takes elsewhere by a %s is followed no more than before',
    async (how) => {
      const { home, get, post } = await serveFiles(otherUser());
      const victim = makeVictim(home);
      const { uid, gid } = otherUser();
      const [roots, own, shared] = ['roots', 'own', 'shared'].map((name) => join(dirname(home), name)) as [
        string,
        string,
        string,
      ];
      for (const path of [roots, own, shared]) mkdirSync(path, { mode: 0o755 });
      chmodSync(shared, 0o1777);
      mkdirSync(join(home, 'd'));
      chownSync(join(home, 'd'), uid, gid);
      // One that the user has made, and one of root that the user has moved there.
      for (const path of [join(home, 'd/made'), join(home, 'd/moved'), join(own, 'kept'), join(shared, 'any')])
        symlinkSync(victim, path);
      lchownSync(join(home, 'd/made'), uid, gid);
      const take = (source: string, name: string, preserveAttrs: boolean) =>
        post(
          how,
          how === 'copy'
            ? { source, dest: join(roots, name), preserveAttrs, recursive: true, asRoot: true }
            : { source, dest: join(roots, name), asRoot: true },
          { headers },
        );
      const read = (name: string) => get('read', { path: join(roots, name, 'x'), asRoot: 'true' }, { headers });
      if (how === 'copy') {
        for (const preserveAttrs of [false, true]) {
          expect((await take(join(home, 'd'), `tree-${preserveAttrs}`, preserveAttrs)).status).toBe(200);
          for (const link of ['made', 'moved']) {
            const place = join(`tree-${preserveAttrs}`, link);
            expect(lstatSync(join(roots, place))).toMatchObject({ uid, gid });
            expect((await read(place)).json).toMatchObject({ code: 'EACCES' });
          }
        }
        expect((await take(own, 'own', false)).status).toBe(200);
        expect((await read('own/kept')).text).toBe('secret');
        expect((await take(shared, 'shared', false)).json).toMatchObject({ code: 'EPERM', path: join(shared, 'any') });
        return;
      }
      for (const link of ['made', 'moved']) {
        expect((await take(join(home, 'd', link), link, false)).status).toBe(200);
        expect(lstatSync(join(roots, link))).toMatchObject({ uid, gid });
        expect((await read(link)).json).toMatchObject({ code: 'EACCES' });
      }
      expect((await take(join(own, 'kept'), 'kept', false)).status).toBe(200);
      expect((await read('kept')).text).toBe('secret');
      expect((await take(join(shared, 'any'), 'any', false)).json).toMatchObject({ code: 'EPERM' });
      expect(readdirSync(shared)).toEqual(['any']);
      expect(statSync(victim)).toMatchObject({ uid: 0, gid: 0 });
    },
  );

  it('a file of root that a user has linked into a tree is not given away', async () => {
    const { home, put, post } = await serveFiles(otherUser());
    const victim = makeVictim(home);
    const { uid, gid } = otherUser();
    mkdirSync(join(home, 'd'));
    chownSync(join(home, 'd'), uid, gid);
    linkSync(join(victim, 'x'), join(home, 'd/hard'));
    const given = await post('chown', { path: 'd', uid, recursive: true, asRoot: true }, { headers });
    expect(given.json).toMatchObject({ code: 'EPERM', path: `${home}/d/hard` });
    expect((await post('chmod', { path: 'd/hard', mode: '666', asRoot: true }, { headers })).status).toBe(403);
    const more = await put({ path: 'd/hard', append: 'true', asRoot: 'true' }, 'more', { headers });
    expect(more.status).toBe(403);
    mkdirSync(join(home, 'to'));
    writeFileSync(join(home, 'to/hard'), '');
    chownSync(join(home, 'to/hard'), uid, gid);
    const copied = await post('copy', { source: 'd', dest: 'to', recursive: true, asRoot: true }, { headers });
    expect(copied.json).toMatchObject({ code: 'EPERM', path: `${home}/d/hard` });
    expect(readFileSync(join(home, 'to/hard'), 'utf8')).toBe('');
    expect(statSync(join(victim, 'x'))).toMatchObject({ uid: 0, size: 6 });
    expect(statSync(join(victim, 'x')).mode & 0o777).toBe(0o600);
  });

  it('what it writes over a file of the user stays the user’s, and no set-id bit goes to a new owner', async () => {
    const { home, put, post } = await serveFiles(otherUser());
    const { uid, gid } = otherUser();
    writeFileSync(join(home, 'tool'), 'old', { mode: 0o755 });
    chownSync(join(home, 'tool'), uid, gid);
    await put({ path: 'tool', asRoot: 'true' }, 'new', { headers });
    expect(statSync(join(home, 'tool'))).toMatchObject({ uid, gid });
    expect((await post('chmod', { path: 'tool', mode: '4755', asRoot: true }, { headers })).status).toBe(200);
    expect((await post('copy', { source: 'tool', dest: 'copy', asRoot: true }, { headers })).status).toBe(200);
    expect(statSync(join(home, 'copy'))).toMatchObject({ uid: 0 });
    expect(statSync(join(home, 'copy')).mode & 0o7777).toBe(0o755);
    await post('copy', { source: 'tool', dest: 'kept', asRoot: true, preserveAttrs: true }, { headers });
    expect(statSync(join(home, 'kept'))).toMatchObject({ uid, gid });
    expect(statSync(join(home, 'kept')).mode & 0o7777).toBe(0o4755);
  });
});
