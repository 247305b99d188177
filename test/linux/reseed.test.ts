// The unit that heals the kernel's random numbers after a restore, and the blind spot that says where it is missing.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { findSharedRandomness } from '../../src/agent/resume/shared-randomness.ts';
import { loudly } from '../support/loudly.ts';
import { tempDir } from '../support/temp-dir.ts';

const script = new URL('../../systemd/reseed.pl', import.meta.url).pathname;
const hasPerl = spawnSync('perl', ['-v']).status === 0;

function runDir(generation?: number): string {
  const dir = tempDir();
  if (generation !== undefined) writeFileSync(join(dir, 'generation'), `${generation}\n`);
  return dir;
}

/** Runs with nothing of root's powers but what is named. */
function reseed(dir: string, rights: string) {
  const limits = [`--bounding-set=-all${rights}`, '--no-new-privs'];
  const run = spawnSync('setpriv', [...limits, 'perl', script, dir], { encoding: 'utf8' });
  return { status: run.status, said: run.stderr || run.stdout };
}

const isRoot = process.getuid?.() === 0;
const hasRight = isRoot && hasPerl && reseed('/proc/self/no-directory', ',+sys_admin').status === 0;
const mayLimit = isRoot && spawnSync('setpriv', ['--bounding-set=-all', 'true']).status === 0;

describe('reseeding', () => {
  it.skipIf(loudly(!hasRight, 'no right to reseed the kernel, no perl or no setpriv: the script is not run'))(
    'takes one right, and leaves the generation that it did that for',
    () => {
      const dir = runDir(7);
      writeFileSync(join(dir, 'reseeded'), '6\n');
      expect(reseed(dir, ',+sys_admin')).toEqual({ status: 0, said: 'new seed for generation 7\n' });
      expect(readFileSync(join(dir, 'reseeded'), 'utf8')).toBe('7\n');
      expect(readdirSync(dir).sort()).toEqual(['generation', 'reseeded']);
    },
  );

  it.skipIf(loudly(!hasRight, 'no right to reseed the kernel, no perl or no setpriv: the script is not run'))(
    'goes well without an agent',
    () => {
      const dir = runDir();
      expect(reseed(dir, ',+sys_admin')).toEqual({ status: 0, said: 'new seed for no generation\n' });
      expect(readdirSync(dir)).toEqual([]);
    },
  );

  it.skipIf(loudly(!hasPerl || isRoot !== mayLimit, 'no perl, or root without setpriv'))(
    'says why it cannot, and leaves no mark',
    () => {
      const dir = runDir(7);
      const run = isRoot
        ? reseed(dir, '')
        : { said: spawnSync('perl', [script, dir], { encoding: 'utf8' }).stderr, status: 1 };
      expect(run.said).toMatch(/^the kernel does not reseed: /);
      expect(run.status).not.toBe(0);
      expect(existsSync(join(dir, 'reseeded'))).toBe(false);
    },
  );
});

describe('the blind spot', () => {
  function machine(options: { driver?: string; flags?: string; device?: boolean } = {}) {
    const root = tempDir();
    const procRoot = join(root, 'proc');
    const sysRoot = join(root, 'sys');
    mkdirSync(procRoot);
    writeFileSync(join(procRoot, 'cpuinfo'), `flags\t\t: ${options.flags ?? 'fpu hypervisor'}\n`);
    if (options.driver !== undefined) {
      const driver = join(sysRoot, 'bus', options.driver, 'drivers/vmgenid');
      mkdirSync(driver, { recursive: true });
      writeFileSync(join(driver, 'bind'), '');
      if (options.device !== false) mkdirSync(join(driver, 'VMGENCTR:00'));
    }
    return { generationFile: join(root, 'generation'), procRoot, sysRoot };
  }

  it('is there on a kernel without the driver, or with one that has no device', () => {
    expect(findSharedRandomness(machine(), 3)).toMatch(/^rng: /);
    expect(findSharedRandomness(machine({ driver: 'acpi', device: false }), 3)).toMatch(/^rng: /);
  });

  it('is not there where the kernel reseeds, or where nothing can be restored', () => {
    expect(findSharedRandomness(machine({ driver: 'acpi' }), 3)).toBeUndefined();
    expect(findSharedRandomness(machine({ driver: 'platform' }), 3)).toBeUndefined();
    expect(findSharedRandomness(machine({ flags: 'fpu' }), 3)).toBeUndefined();
  });

  it('ends with the mark of this generation, and with no other', () => {
    const options = machine();
    writeFileSync(join(options.generationFile, '../reseeded'), '3\n');
    expect(findSharedRandomness(options, 3)).toBeUndefined();
    expect(findSharedRandomness(options, 4)).toMatch(/^rng: /);
  });
});
