// The images that machines boot from: what is taken, what is refused with which words, and how they are kept.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { buildImage } from '../../src/platform/images/build/build-image.ts';
import { digestTree } from '../../src/platform/images/build/tree-digest.ts';
import { DISK_LIMIT_BYTES } from '../../src/platform/images/check-disk.ts';
import { toPackages } from '../../src/platform/images/debian-packages.ts';
import { deleteImage, listImages, readImage } from '../../src/platform/images/image-store.ts';
import { importImage } from '../../src/platform/images/import-image.ts';
import { KERNEL_HEAD_BYTES, readKernelVersion } from '../../src/platform/images/kernel-version.ts';
import { openLock } from '../../src/sqlite/lock.ts';
import { openOnce } from '../support/at-end.ts';
import { loudly } from '../support/loudly.ts';
import { runHere } from '../support/run-here.ts';
import { tempDir } from '../support/temp-dir.ts';

const missing = ['qemu-img', 'debugfs', 'mke2fs'].filter((tool) => spawnSync('which', [tool]).status !== 0);
const isWithoutTools = loudly(missing.length > 0, `no image is imported here, for want of ${missing.join(', ')}`);

function toKernel(version: string): Buffer {
  const head = Buffer.alloc(KERNEL_HEAD_BYTES);
  head.write('HdrS', 0x202, 'latin1');
  head.writeUInt16LE(0x3000, 0x20e);
  head.write(`${version} (builder@host) #1 SMP\0`, 0x3200, 'latin1');
  return head;
}

describe('reading', () => {
  it('the version of a kernel, and none of anything else', () => {
    expect(readKernelVersion(toKernel('6.1.0-56-cloud-amd64'))).toBe('6.1.0-56-cloud-amd64');
    expect(readKernelVersion(toKernel('../../etc'))).toBeUndefined();
    expect(readKernelVersion(Buffer.alloc(10))).toBeUndefined();
    expect(readKernelVersion(Buffer.from(`\x7fELF${'x'.repeat(5_000)}`))).toBeUndefined();
    const past = toKernel('6.1.0');
    past.writeUInt16LE(0xffff, 0x20e);
    expect(readKernelVersion(past.subarray(0, 0x400))).toBeUndefined();
  });

  it('the packages of a Debian that are installed', () => {
    const status = [
      'Package: b\nStatus: install ok installed\nDescription: text\n Version: not this\nVersion: 2.0-1',
      'Package: gone\nStatus: deinstall ok config-files\nVersion: 1',
      'Package: a\nStatus: install ok installed\nVersion: 1:1.0',
    ];
    expect(toPackages(`${status.join('\n\n')}\n`)).toEqual(['a=1:1.0', 'b=2.0-1']);
    expect(toPackages('')).toEqual([]);
  });

  it('a tree as one number that tells of content, names and modes, and not of times', async () => {
    const make = (content: string, mode: number) => {
      const dir = tempDir();
      mkdirSync(join(dir, 'a'));
      writeFileSync(join(dir, 'a/b'), content, { mode });
      return digestTree(dir);
    };
    const first = await make('x', 0o644);
    expect(await make('x', 0o644)).toBe(first);
    expect(await make('y', 0o644)).not.toBe(first);
    expect(await make('x', 0o600)).not.toBe(first);
  });
});

describe.skipIf(isWithoutTools)('importing', () => {
  let dir = '';
  let imagesDir = '';
  const at = (name: string) => join(dir, name);
  const now = () => new Date('2026-11-23T00:00:00Z');
  const take = (disk: string, more: { kernel?: string; name?: string } = {}) =>
    importImage({ imagesDir, name: 'own', kernel: at('kernel'), initrd: at('initrd'), disk, now, ...more });
  const qemuImg = (...words: string[]) => execFileSync('qemu-img', words, { stdio: 'ignore' });

  openOnce(async () => {
    dir = tempDir();
    imagesDir = join(dir, 'platform/images');
    writeFileSync(at('kernel'), toKernel('6.12.1-cloud'));
    writeFileSync(at('initrd'), 'initrd');
    const unit = 'etc/systemd/system/multi-user.target.wants/remora.service';
    for (const [tree, name] of Object.entries({ whole: 'remora', other: 'other' })) {
      for (const path of ['opt/remora/package.json', unit, 'var/lib/dpkg/status']) {
        mkdirSync(at(join(tree, dirname(path))), { recursive: true });
      }
      writeFileSync(at(`${tree}/opt/remora/package.json`), JSON.stringify({ name, version: '1.2.3' }));
      writeFileSync(at(`${tree}/${unit}`), '');
      writeFileSync(at(`${tree}/var/lib/dpkg/status`), 'Package: a\nStatus: install ok installed\nVersion: 1\n');
      execFileSync('mke2fs', ['-q', '-t', 'ext4', '-d', at(tree), at(`${tree}.raw`), '8M']);
    }
    qemuImg('convert', '-f', 'raw', '-O', 'qcow2', at('whole.raw'), at('whole.qcow2'));
    qemuImg('create', '-f', 'qcow2', '-F', 'qcow2', '-b', at('whole.qcow2'), at('standing.qcow2'));
    qemuImg('create', '-f', 'qcow2', '-o', `data_file=${at('data.raw')}`, at('apart.qcow2'), '8M');
  });

  it('takes a raw disk and a qcow2 one, with the sums of the files', async () => {
    const manifest = await take(at('whole.raw'));
    expect(manifest).toMatchObject({
      name: 'own',
      kernel_version: '6.12.1-cloud',
      agent_version: '1.2.3',
      agent: true,
      boot: { cpu: 'max', append: expect.stringContaining('root=/dev/vda') },
    });
    const sum = execFileSync('sha256sum', [join(imagesDir, 'own/kernel')], { encoding: 'utf8' });
    expect(manifest.files.kernel).toBe(sum.split(' ')[0]);
    const other = await take(at('whole.qcow2'), { name: 'other' });
    expect(other.packages_digest).toBe(manifest.packages_digest);
    const list = await listImages(imagesDir);
    expect(list.map(({ name }) => name)).toEqual(['other', 'own']);
    expect((await readImage(imagesDir, 'own')).manifest).toEqual(manifest);
  });

  it('refuses with the reason, and leaves the image of that name as it is', async () => {
    await take(at('whole.raw'));
    writeFileSync(at('empty.raw'), '');
    truncateSync(at('empty.raw'), 8 * 1024 ** 2);
    writeFileSync(at('large.raw'), '');
    truncateSync(at('large.raw'), DISK_LIMIT_BYTES + 512);
    writeFileSync(at('cut.qcow2'), readFileSync(at('whole.qcow2')).subarray(0, 70_000));
    const refusals: [disk: string, says: RegExp][] = [
      [at('other.raw'), /no agent that starts with the machine.*package\.json/],
      [at('empty.raw'), /no agent/],
      [at('standing.qcow2'), /stands on another file.*flatten/],
      [at('apart.qcow2'), /content is in another file/],
      [at('cut.qcow2'), /refused/],
      [at('large.raw'), /at most/],
      [at('absent.raw'), /cannot be opened/],
    ];
    for (const [disk, says] of refusals) {
      await expect(take(disk), disk).rejects.toMatchObject({
        code: 'invalid_request',
        message: expect.stringMatching(says),
      });
    }
    await expect(take(at('whole.raw'), { kernel: at('initrd') })).rejects.toThrow(/no Linux kernel/);
    await expect(take(at('whole.raw'), { name: '../x' })).rejects.toThrow(/no name of an image/);
    expect((await listImages(imagesDir)).find(({ name }) => name === 'own')).toMatchObject({
      manifest: { agent: true },
    });
    expect(execFileSync('ls', ['-A', imagesDir], { encoding: 'utf8' })).not.toMatch(/^\./m);
  });

  it('lists, shows and deletes by the command line', async () => {
    await take(at('whole.raw'), { name: 'short-lived' });
    const run = (...words: string[]) => runHere(['image', ...words, '--dir', join(dir, 'platform')]);
    expect((await run('list')).out).toMatch(/short-lived +6\.12\.1-cloud +1\.2\.3/);
    expect(JSON.parse((await run('show', 'short-lived')).out)).toMatchObject({ name: 'short-lived' });
    expect((await run('delete', 'short-lived')).code).toBe(0);
    expect(existsSync(join(imagesDir, 'short-lived'))).toBe(false);
    const gone = await run('delete', 'short-lived');
    expect(gone.code).toBe(1);
    expect(gone.err).toContain('there is no image short-lived');
    await expect(deleteImage(imagesDir, 'nothing')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('names an image that is not whole', async () => {
    mkdirSync(join(imagesDir, 'half'));
    expect((await listImages(imagesDir)).find(({ name }) => name === 'half')).toMatchObject({
      fault: expect.stringContaining('not whole'),
    });
    await expect(readImage(imagesDir, 'half')).rejects.toMatchObject({ code: 'not_configured' });
    await deleteImage(imagesDir, 'half');
  });
});

describe('an image of Debian', () => {
  const toOptions = (cacheDir: string) => ({
    ...{ imagesDir: tempDir(), cacheDir, name: 'second', source: '.', suite: 'bookworm', kernel: '6.1', size_mb: 1024 },
    ...{ packages: [], add: undefined, fresh: false, step: () => undefined, now: () => new Date() },
  });

  it('is built on the processor of the machines only, which is said before anything is made', async () => {
    const cacheDir = join(tempDir(), 'cache');
    const options = { ...toOptions(cacheDir), cpu: 'arm64' };
    await expect(buildImage(options)).rejects.toMatchObject({
      code: 'not_configured',
      message: `images are for x86-64, and this processor is arm64: build the image on an x86-64 host and copy its directory into ${options.imagesDir}`,
    });
    expect(existsSync(cacheDir)).toBe(false);
  });

  const isWithoutRoot = loudly(process.geteuid?.() !== 0, 'only root builds images');
  it.skipIf(isWithoutRoot)('is built by one process at a time', async () => {
    const cacheDir = join(tempDir(), 'cache');
    mkdirSync(cacheDir, { mode: 0o700 });
    using _other = openLock(join(cacheDir, 'build.lock'));
    const options = { ...toOptions(cacheDir), cpu: 'x64' };
    await expect(buildImage(options)).rejects.toMatchObject({ code: 'conflict' });
  });
});
