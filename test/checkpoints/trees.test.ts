// What a checkpoint keeps of a tree, and what it costs: names, links, modes, times, depth, many files, and a full disk.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { openMachineCheckpoints } from '../support/machine-checkpoints.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

const isRoot = process.geteuid?.() === 0;

function open(dir = tempDir()) {
  const checkpoints = openMachineCheckpoints(dir, silentLog);
  // Names that are no text, and paths that are too long for one call, are left to the command.
  atEnd(() => execFileSync('rm', ['-rf', checkpoints.machine]));
  return { ...checkpoints, at: (...names: readonly string[]) => join(checkpoints.home, ...names) };
}

/** Every entry with its type, mode, length and target, and the content of files; names with any bytes. */
function print(dir: string): string {
  const script =
    'find . -printf "%y %m %U %G %s %T@ %p %l\\n" | sed "s/^d \\([^ ]* [^ ]* [^ ]*\\) [^ ]*/d \\1/" | sort; find . -type f -print0 | sort -z | xargs -0r md5sum';
  return execFileSync('sh', ['-c', script], { cwd: dir, env: { ...process.env, LC_ALL: 'C' }, encoding: 'latin1' });
}

/** Times to the second: the runtime sets them to a quarter of a microsecond, which may change every digit of a fraction. */
const toWholeSeconds = (text: string) => text.replaceAll(/ (\d+)\.\d+ \./g, ' $1 .');

test('links, modes, times, pipes and names with any bytes come back, and links are not followed', async () => {
  const { at, home, make, restore, recent } = open();
  mkdirSync(at('a', 'b'), { recursive: true });
  writeFileSync(at('a', 'run'), 'x', { mode: 0o755 });
  chmodSync(at('a', 'run'), 0o4751);
  symlinkSync('.', at('a', 'loop'));
  symlinkSync('/etc', at('a', 'out'));
  symlinkSync('nowhere', at('dangling'));
  lutimesSync(at('dangling'), 1_000_000, 1_000_000);
  writeFileSync(at('first'), 'same');
  linkSync(at('first'), at('second'));
  execFileSync('mkfifo', ['-m', '640', at('a', 'pipe')]);
  writeFileSync(Buffer.concat([Buffer.from(`${home}/`), Buffer.of(0xff, 0xfe, 10, 0x80)]), 'bytes');
  mkdirSync(Buffer.concat([Buffer.from(`${home}/`), Buffer.of(0xc3)]));
  utimesSync(at('first'), 1_500_000_000, 1_400_000_000);
  utimesSync(at('a', 'b'), 1_500_000_000, 1_300_000_000);
  chmodSync(at('a', 'b'), 0o1555);
  const before = toWholeSeconds(print(home));
  const made = await make('all');
  expect(toWholeSeconds(print(`${recent(made.id)}/`))).toBe(before);
  execFileSync('sh', ['-c', 'rm -rf -- * ; echo other > new'], { cwd: home });
  await restore(made.id);
  expect(toWholeSeconds(print(home))).toBe(before);
  expect(statSync(at('a', 'b')).mtimeMs).toBe(1_300_000_000_000);
  expect(lstatSync(at('first')).ino).toBe(lstatSync(at('second')).ino);
  expect(readlinkSync(at('a', 'out'))).toBe('/etc');
  expect(existsSync(at('new'))).toBe(false);
});

test('sockets are left out', async () => {
  const { at, home, make, restore } = open();
  const script = `require('node:net').createServer().listen(${JSON.stringify(at('sock'))}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', script]);
  expect(readdirSync(home)).toEqual(['sock']);
  await make();
  await restore('v0');
  expect(readdirSync(home)).toEqual([]);
});

test('a tree that is deeper than any path comes back', async () => {
  const { home, make, restore } = open();
  const depth = 300;
  const name = 'd'.repeat(100);
  const dig = `for i in $(seq ${depth}); do mkdir ${name} && cd ${name} || exit 1; done; echo bottom > file`;
  execFileSync('bash', ['-c', dig], { cwd: home });
  await make();
  execFileSync('rm', ['-rf', name], { cwd: home });
  await restore('v0');
  const climb = `for i in $(seq ${depth}); do cd -P ${name} || exit 1; done; cat file`;
  expect(execFileSync('bash', ['-c', climb], { cwd: home, encoding: 'utf8' })).toBe('bottom\n');
});

test('a file that has not changed is one file in both checkpoints, and one in use is never shared', async () => {
  const { at, make, restore, recent } = open();
  for (const name of ['same', 'grown', 'sneaky']) writeFileSync(at(name), 'one');
  utimesSync(at('sneaky'), 1_000, 1_000);
  // A file that is just written may change again within one tick of the clock, and is copied once more.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await make();
  appendFileSync(at('grown'), ' two');
  writeFileSync(at('sneaky'), 'two');
  utimesSync(at('sneaky'), 1_000, 1_000);
  await make();
  const inode = (id: string, name: string) => statSync(join(recent(id), name)).ino;
  expect(inode('v0', 'same')).toBe(inode('v1', 'same'));
  expect(inode('v0', 'grown')).not.toBe(inode('v1', 'grown'));
  expect(readFileSync(join(recent('v1'), 'sneaky'), 'utf8')).toBe('two');
  expect(readFileSync(join(recent('v0'), 'sneaky'), 'utf8')).toBe('one');
  await restore('v0');
  expect(statSync(at('same')).ino).not.toBe(inode('v0', 'same'));
  appendFileSync(at('grown'), ' three');
  expect(readFileSync(join(recent('v0'), 'grown'), 'utf8')).toBe('one');
  // What was restored is known to be what v0 has.
  const after = await make();
  expect(after).toMatchObject({ id: 'v2', source_id: 'v0' });
  expect(inode('v2', 'same')).toBe(inode('v0', 'same'));
  expect(readFileSync(join(recent('v2'), 'grown'), 'utf8')).toBe('one three');
});

test('holes stay holes', async () => {
  const { at, make, restore } = open();
  writeFileSync(at('disk'), 'head');
  truncateSync(at('disk'), 8 * 1024 ** 3);
  await make();
  await restore('v0');
  const { size, blocks } = statSync(at('disk'));
  expect(size).toBe(8 * 1024 ** 3);
  expect(blocks * 512).toBeLessThan(1024 ** 2);
});

test('ten thousand files, while the loop of the platform goes on', async () => {
  const { at, home, make, restore } = open(memoryDir());
  for (let each = 0; each < 100; each += 1) {
    mkdirSync(at(`d${each}`));
    for (let file = 0; file < 100; file += 1) writeFileSync(at(`d${each}`, `f${file}`), `${each} ${file}`);
  }
  const before = toWholeSeconds(print(home));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await make();
  rmSync(at('d7'), { recursive: true });
  await restore('v0');
  clearInterval(timer);
  expect(toWholeSeconds(print(home))).toBe(before);
  expect(turns).toBeGreaterThan(100);
});

test.runIf(isRoot)('a full disk changes nothing and leaves nothing', async () => {
  const dir = tempDir();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'none', dir]);
  atEnd(() => execFileSync('umount', ['-l', dir]));
  const { at, machine, make, restore, list } = open(dir);
  writeFileSync(at('file'), Buffer.alloc(2 * 1024 ** 2, 1));
  await make();
  writeFileSync(at('file'), Buffer.alloc(5 * 1024 ** 2, 2));
  await expect(make()).rejects.toMatchObject({ code: 'storage_full' });
  await expect(restore('v0')).rejects.toMatchObject({ code: 'storage_full' });
  expect(readFileSync(at('file'))).toEqual(Buffer.alloc(5 * 1024 ** 2, 2));
  expect(await list()).toMatchObject([{ id: 'v0', is_healthy: true }]);
  await eventually(() => readdirSync(join(machine, 'checkpoints')).every((name) => !name.startsWith('.')) || undefined);
  rmSync(at('file'));
  await restore('v0');
  expect(readFileSync(at('file'))).toEqual(Buffer.alloc(2 * 1024 ** 2, 1));
});

test.runIf(isRoot)('a directory that cannot be read stops the checkpoint of another user and is named', () => {
  const dir = tempDir();
  execFileSync('chown', ['nobody', dir]);
  const script = `
    import { chmodSync, mkdirSync } from 'node:fs';
    import { openMachineCheckpoints } from ${JSON.stringify(new URL('../support/machine-checkpoints.ts', import.meta.url).pathname)};
    const ignore = () => undefined;
    const it = openMachineCheckpoints(${JSON.stringify(dir)}, { debug: ignore, error: ignore });
    mkdirSync(it.home + '/shut');
    chmodSync(it.home + '/shut', 0);
    const error = await it.make().catch((error) => error);
    console.log(error.code, error.message);
    chmodSync(it.home + '/shut', 0o500);
    console.log((await it.make()).id);
    chmodSync(it.home + '/shut', 0);
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    uid: 65_534,
    gid: 65_534,
  });
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^conflict .*at "shut": EACCES; give .*\nv0\n$/), '']);
});

test.runIf(isRoot)('root keeps a directory that nobody may read', async () => {
  const { at, make, restore } = open();
  mkdirSync(at('shut'));
  writeFileSync(at('shut', 'file'), 'x');
  chmodSync(at('shut'), 0);
  await make();
  await restore('v0');
  expect(statSync(at('shut')).mode & 0o777).toBe(0);
  expect(readFileSync(at('shut', 'file'), 'utf8')).toBe('x');
});

test('one that is damaged is said to be, is not restored, and can be removed', async () => {
  const { at, machine, make, restore, remove, list } = open();
  writeFileSync(at('file'), 'x');
  await make('first');
  await make('second');
  rmSync(join(machine, 'checkpoints', 'v0', 'tree'), { recursive: true });
  expect(await list()).toMatchObject([
    { id: 'v0', comment: 'first', is_healthy: false },
    { id: 'v1', is_healthy: true },
  ]);
  await expect(restore('v0')).rejects.toMatchObject({ code: 'conflict' });
  await remove('v0');
  await expect(restore('v0')).rejects.toMatchObject({ code: 'not_found' });
  expect(await make()).toMatchObject({ id: 'v2', source_id: 'v1' });
});

test('the last five are linked', async () => {
  const { machine, make } = open();
  for (let each = 0; each < 7; each += 1) await make();
  expect(readdirSync(join(machine, 'recent-checkpoints')).toSorted()).toEqual(['v2', 'v3', 'v4', 'v5', 'v6']);
});
