// A project of somebody who builds a provider: the kit installed from what `npm pack` makes, and nothing else of this repository.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tempDir } from './temp-dir.ts';

const root = new URL('../../', import.meta.url).pathname;
const PACKED = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.package.json',
  'LICENSE',
  'bin',
  'README.md',
  'src',
];

/** Packs a copy, because packing changes the tree; returns the path of the tarball. */
export async function packKit(): Promise<string> {
  const dir = tempDir();
  for (const name of PACKED) cpSync(join(root, name), join(dir, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'));
  const before = readFileSync(join(root, 'package.json'), 'utf8');
  const checkManifest = () => {
    if (readFileSync(join(dir, 'package.json'), 'utf8') !== before) throw new Error('another package.json is left');
  };
  execFileSync('npm', ['pack', '--offline', '--silent', '--no-update-notifier'], { cwd: dir, stdio: 'pipe' });
  checkManifest();
  // One that was killed leaves the manifest of the package, which the next one finds.
  for (const way of ['in', 'in', 'out'])
    execFileSync(process.execPath, ['src/cli/package/manifest.ts', way], { cwd: dir });
  checkManifest();
  const [tarball] = readdirSync(dir).filter((name) => name.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('npm pack made nothing');
  return join(dir, tarball);
}

/** A folder with `files` in which the tarball and the packages that it names, and `types`, are installed. */
export function installKit(
  tarball: string,
  files: Readonly<Record<string, string>>,
  types: readonly string[] = [],
): string {
  const dir = tempDir();
  const kit = join(dir, 'node_modules/remora');
  mkdirSync(kit, { recursive: true });
  execFileSync('tar', ['xzf', tarball, '-C', kit, '--strip-components=1']);
  const { dependencies }: { dependencies: object } = JSON.parse(readFileSync(join(kit, 'package.json'), 'utf8'));
  for (const name of [...Object.keys(dependencies), ...types]) {
    const path = join(dir, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), path);
  }
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    writeFileSync(join(dir, name), text);
  }
  return dir;
}
