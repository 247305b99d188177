// The program in a directory of a test, where a test may install another version of it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from './temp-dir.ts';

const root = new URL('../../', import.meta.url).pathname;

const DAMAGED = join('src', 'agent', 'holds', 'holds.ts');

/** One copy for all tests of a file, each of which begins with `restore`, is compiled once. */
export function copyProgram() {
  const dir = tempDir();
  execFileSync('cp', ['-r', join(root, 'src'), join(root, 'package.json'), dir]);
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const manifest = join(dir, 'package.json');
  const given: Record<string, unknown> = JSON.parse(readFileSync(manifest, 'utf8'));
  const install = (version: string) => writeFileSync(manifest, JSON.stringify({ ...given, version }));
  return {
    path: join(dir, 'src', 'cli', 'remora.js'),
    version: String(given.version),
    install,
    /** Leaves a program whose command starts, and whose daemon does not. */
    damage: () => rmSync(join(dir, DAMAGED)),
    /** The program as it was copied. */
    restore() {
      install(String(given.version));
      copyFileSync(join(root, DAMAGED), join(dir, DAMAGED));
    },
  };
}
