// The program in a directory of a test, where a test may install another version of it.
import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { remoraPath, sourcePath } from './run-remora.ts';
import { tempDir } from './temp-dir.ts';

const root = new URL('../../', import.meta.url).pathname;
const place =
  remoraPath === sourcePath
    ? { from: join(root, 'src'), front: 'cli/remora.js', damaged: 'agent/holds/holds.ts' }
    : { from: dirname(remoraPath), front: basename(remoraPath), damaged: 'agent.cjs' };

/** One copy for all tests of a file, each of which begins with `restore`, is compiled once. */
export function copyProgram() {
  const dir = tempDir();
  execFileSync('cp', ['-r', place.from, join(root, 'package.json'), dir]);
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const copy = join(dir, basename(place.from));
  const manifest = join(dir, 'package.json');
  const given: Record<string, unknown> = JSON.parse(readFileSync(manifest, 'utf8'));
  const install = (version: string) => writeFileSync(manifest, JSON.stringify({ ...given, version }));
  return {
    path: join(copy, place.front),
    version: String(given.version),
    install,
    /** Leaves a program whose command starts, and whose daemon does not. */
    damage: () => rmSync(join(copy, place.damaged)),
    /** The name of the file that is missed then. */
    damagedFile: basename(place.damaged),
    /** The program as it was copied. */
    restore() {
      install(String(given.version));
      copyFileSync(join(place.from, place.damaged), join(copy, place.damaged));
    },
  };
}
