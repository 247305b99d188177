import { chmodSync, chownSync, lchownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { whyUntrusted } from '../../src/linux/trusted-path.ts';
import { loudly } from '../support/loudly.ts';
import { tempDir } from '../support/temp-dir.ts';

function makeTree() {
  const root = tempDir();
  const dir = join(root, 'dir');
  mkdirSync(dir);
  chmodSync(dir, 0o755);
  const file = join(dir, 'file');
  writeFileSync(file, '');
  chmodSync(file, 0o644);
  return { root, dir, file };
}

it('trusts what is ours, below a directory for temporary files too', () => {
  const { dir, file } = makeTree();
  expect(whyUntrusted(dir)).toBeUndefined();
  expect(whyUntrusted(file)).toBeUndefined();
});

it.each([
  ['the file', 0o666, ({ file }: ReturnType<typeof makeTree>) => file],
  ['the file by its group', 0o664, ({ file }: ReturnType<typeof makeTree>) => file],
  ['its directory', 0o777, ({ dir }: ReturnType<typeof makeTree>) => dir],
  ['its directory by its group', 0o775, ({ dir }: ReturnType<typeof makeTree>) => dir],
  ['a directory above', 0o777, ({ root }: ReturnType<typeof makeTree>) => root],
] as const)('does not trust a path when others may write to %s', (_name, mode, of) => {
  const tree = makeTree();
  chmodSync(of(tree), mode);
  expect(whyUntrusted(tree.file)).toBe(`others may write to ${of(tree)}; chmod go-w ${of(tree)}`);
});

it('holds the target of a link, and every directory on the way to it, to the same', () => {
  const { root, dir, file } = makeTree();
  const link = join(root, 'link');
  symlinkSync('dir/file', link);
  expect(whyUntrusted(link)).toBeUndefined();
  const through = join(root, 'through');
  symlinkSync(dir, through);
  expect(whyUntrusted(join(through, 'file'))).toBeUndefined();
  chmodSync(dir, 0o777);
  expect(whyUntrusted(link)).toMatch(/others may write to .*dir;/);
  expect(whyUntrusted(join(through, 'file'))).toMatch(/others may write to .*dir;/);
  chmodSync(dir, 0o755);
  chmodSync(file, 0o602);
  expect(whyUntrusted(link)).toMatch(/others may write to .*file;/);
});

it('does not go round in links', () => {
  const { root } = makeTree();
  symlinkSync('b', join(root, 'a'));
  symlinkSync('a', join(root, 'b'));
  expect(whyUntrusted(join(root, 'a'))).toMatch(/too many links/);
});

it('gives a reason for what is not there', () => {
  expect(whyUntrusted(join(tempDir(), 'none'))).toMatch(/ENOENT/);
});

it('trusts a socket to which everybody may connect', async () => {
  const path = join(tempDir(), 'socket');
  const server = createServer().listen(path);
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  chmodSync(path, 0o777);
  expect(whyUntrusted(path)).toBeUndefined();
});

const isRoot = process.getuid?.() === 0;

it.skipIf(loudly(!isRoot, 'not root: files of other users cannot be made'))('does not trust what others own', () => {
  const { root, dir, file } = makeTree();
  chownSync(file, 4_711, 4_711);
  expect(whyUntrusted(file)).toBe(`${file} belongs to user 4711`);
  chownSync(file, 0, 0);
  const link = join(root, 'link');
  symlinkSync(file, link);
  lchownSync(link, 4_711, 4_711);
  expect(whyUntrusted(link)).toBe(`${link} belongs to user 4711`);
  chownSync(dir, 4_711, 4_711);
  expect(whyUntrusted(file)).toBe(`${dir} belongs to user 4711`);
});

it('does not trust a directory for everybody at the end of a path unless it is ours', () => {
  const { dir } = makeTree();
  chmodSync(dir, 0o1777);
  expect(whyUntrusted(dir)).toBeUndefined();
  if (!isRoot) expect(whyUntrusted('/tmp')).toMatch(/others may write to/);
});
