// Finds the files of a native part: among the packages that are installed here, and for another processor in the registry of npm.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NativePart } from './native-parts.ts';

/** What npm writes of a package that it has packed. */
interface Packed {
  readonly filename: string;
  readonly integrity: string;
}

export interface FindOptions {
  /** The directory of the package. */
  readonly root: string;
  /** Where what is fetched may lie until the end. */
  readonly work: string;
}

/** The directory with its files. Throws when they are not installed, and when the registry is not reached or gives others. */
export function findPart(part: NativePart, { root, work }: FindOptions): string {
  const installed = [join('node/node_modules', part.from), part.from].map((path) => join(root, 'node_modules', path));
  const found = installed.find((path) => part.paths.every((each) => existsSync(join(path, each))));
  if (found !== undefined) return found;
  if (!part.isBound) throw new Error(`${part.from} is not installed here; run npm ci`);
  return fetchPart(part, { root, work });
}

/** npm checks what it fetches by what the registry says; what the lock file says counts too. */
function fetchPart({ from }: NativePart, { root, work }: FindOptions): string {
  const { dependencies, packages } = readVersions(root);
  const locked = packages[`node_modules/${from}`];
  const version = locked?.version ?? (from.startsWith('node-linux-') ? dependencies.node : undefined);
  if (version === undefined) throw new Error(`no version of ${from} is known here`);
  const to = join(work, from.replace('/', '-'));
  mkdirSync(to, { recursive: true });
  const said = execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', to, `${from}@${version}`], {
    encoding: 'utf8',
    cwd: work,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [packed]: Packed[] = JSON.parse(said);
  if (packed === undefined) throw new Error(`npm fetched no ${from}`);
  if (locked?.integrity !== undefined && locked.integrity !== packed.integrity)
    throw new Error(`${from}@${version} is another one than the lock file says`);
  execFileSync('tar', ['xzf', join(to, packed.filename), '-C', to, '--strip-components=1']);
  return to;
}

interface Versions {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

function readVersions(root: string): Versions {
  const read = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));
  return { dependencies: read('package.json').dependencies, packages: read('package-lock.json').packages };
}
