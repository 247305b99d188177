// Makes the Debian package: lays out its files in a directory of its own, and has dpkg-deb pack them.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { settings } from '../../../agent/config/settings.ts';
import { commands } from '../../commands.ts';
import { toCompletion } from '../../completion.ts';
import { toCommandManual, toSettingManual } from '../../docs/manual-pages.ts';
import type { Architecture } from '../architecture.ts';
import { makeInstallTree } from '../install-tree.ts';
import { setModes } from '../set-modes.ts';
import { toControl, toFileName } from './control.ts';
import { toDefaultSettings } from './default-settings.ts';
import { maintainerScripts } from './maintainer-scripts.ts';
import { innerUnits, offeredUnits, startedUnits } from './unit-names.ts';

export interface DebOptions {
  /** The directory of the package, with what `npm ci` installs. Ends with a slash. */
  readonly root: string;
  /** The directory for the package. Made when it is not there. */
  readonly to: string;
  readonly architecture: Architecture;
  /** That of the sources when absent. */
  readonly version?: string | undefined;
  /** When everything in the package was changed last, in seconds of Unix. */
  readonly time_s: number;
}

const BEST = { level: 9 } as const;
const EXECUTABLE = 0o755;
/** Where the program lies when it is installed. */
const PLACE = 'opt/remora';

/**
 * Resolves with the path of the package. Two that are made of the same sources, for the same version and time, have the same bytes. Throws when
 * dpkg-deb is not there.
 */
export async function makeDeb({ root, to, architecture, version: given, time_s }: DebOptions): Promise<string> {
  const work = mkdtempSync(join(tmpdir(), 'remora-deb-'));
  try {
    const tree = join(work, 'tree');
    const version = await makeInstallTree({ root, to: join(tree, PLACE), architecture, version: given });
    const conffiles = addFiles(tree, version);
    const files = listFiles(tree);
    const size_bytes = files.reduce((sum, path) => sum + statSync(join(tree, path)).size, 0);
    const { description } = JSON.parse(readFileSync(join(tree, PLACE, 'package.json'), 'utf8'));
    const control = {
      control: toControl({ version, architecture, description, size_bytes }),
      conffiles: conffiles.map((path) => `/${path}\n`).join(''),
      md5sums: files.map((path) => `${sumFile(join(tree, path))}  ${path}\n`).join(''),
    };
    for (const [name, text] of Object.entries(control)) write(join(tree, 'DEBIAN', name), text);
    for (const [name, text] of Object.entries(maintainerScripts)) write(join(tree, 'DEBIAN', name), text, EXECUTABLE);
    setModes(tree, time_s);
    mkdirSync(to, { recursive: true });
    const deb = join(to, toFileName({ version, architecture }));
    pack(tree, deb, time_s);
    return deb;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Puts what lies outside of the program's own directory into `tree`; the paths of those files that an administrator changes. */
function addFiles(tree: string, version: string): string[] {
  const listed = commands.filter(({ alias }) => alias === undefined);
  const defaults = toDefaultSettings(settings);
  const texts: Readonly<Record<string, string | Buffer>> = {
    ...defaults,
    'usr/share/man/man1/remora.1.gz': gzipSync(toCommandManual(listed, version), BEST),
    'usr/share/man/man5/remora-settings.5.gz': gzipSync(toSettingManual(settings, version), BEST),
    'usr/share/bash-completion/completions/remora': toCompletion('bash', commands),
    'usr/share/zsh/vendor-completions/_remora': toCompletion('zsh', commands),
    'usr/share/fish/vendor_completions.d/remora.fish': toCompletion('fish', commands),
    'usr/share/doc/remora/copyright': toCopyright(join(tree, PLACE)),
  };
  for (const [path, text] of Object.entries(texts)) write(join(tree, path), text);
  const units = join(tree, PLACE, 'systemd');
  const copies = [
    ...[...startedUnits, ...offeredUnits, ...innerUnits].map((unit) => [unit, `usr/lib/systemd/system/${unit}`]),
    ['remora.sysusers', 'usr/lib/sysusers.d/remora.conf'],
    ['remora.tmpfiles', 'usr/lib/tmpfiles.d/remora.conf'],
  ] as const;
  for (const [from = '', path = ''] of copies) {
    mkdirSync(dirname(join(tree, path)), { recursive: true });
    cpSync(join(units, from), join(tree, path));
  }
  mkdirSync(join(tree, 'usr/bin'), { recursive: true });
  symlinkSync(`/${PLACE}/bin/remora`, join(tree, 'usr/bin/remora'));
  return Object.keys(defaults);
}

function toCopyright(program: string): string {
  const [own, others] = ['LICENSE', 'LICENSES'].map((name) => readFileSync(join(program, name), 'utf8'));
  const node = `/${PLACE}/node_modules/node/LICENSE`;
  return `${own}\nNode, which runs the program, has its licence in ${node}.\nThe program is built of these packages too:\n\n${others}`;
}

/** Paths of the files below `tree`, sorted, without links. */
function listFiles(tree: string): string[] {
  const entries = readdirSync(tree, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map(({ parentPath, name }) => join(parentPath, name).slice(tree.length + 1)).sort();
}

function sumFile(path: string): string {
  return createHash('md5').update(readFileSync(path)).digest('hex');
}

function write(path: string, text: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text, { mode });
}

function pack(tree: string, deb: string, time_s: number): void {
  try {
    const env = { ...process.env, SOURCE_DATE_EPOCH: String(time_s) };
    execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '--build', tree, deb], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    throw isMissing ? new Error('dpkg-deb is not installed here, which packs for Debian', { cause: error }) : error;
  }
}
