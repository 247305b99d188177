// Makes the tree that is installed as /opt/remora: the built program, the Node that runs it, and the units.
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Architecture } from './architecture.ts';
import { bundleProgram } from './bundle.ts';
import { findPart } from './find-part.ts';
import { checkNativeFiles } from './native-files.ts';
import { NODE_COMMAND, toNativeParts } from './native-parts.ts';
import { setModes } from './set-modes.ts';
import { LAUNCHER } from './started-files.ts';
import { toLicenses } from './to-licenses.ts';

const EXECUTABLE = 0o755;

export interface InstallTreeOptions {
  /** The directory of the package, with what `npm ci` installs. Ends with a slash. */
  readonly root: string;
  /** Made when it is not there. */
  readonly to: string;
  readonly architecture: Architecture;
  /** That of the sources when absent. */
  readonly version?: string | undefined;
  /** The directory of a build that is there already; made when absent. */
  readonly program?: string;
}

/** Resolves with the version. For another processor than that of this machine, Node is fetched. Throws with what is missing,
 * and with the files that another processor would run. */
export async function makeInstallTree(options: InstallTreeOptions): Promise<string> {
  const { root, to, architecture, version, program } = options;
  const source = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const manifest = {
    name: source.name,
    version: version ?? source.version,
    description: source.description,
    license: source.license,
  };
  const dist = join(to, 'dist');
  if (program === undefined) await bundleProgram({ root, to: dist, hasMaps: false });
  else cpSync(program, dist, { recursive: true });
  copyNativeParts({ root, to, architecture });
  checkNativeFiles(to, architecture);
  cpSync(join(root, 'systemd'), join(to, 'systemd'), { recursive: true });
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'));
  writeFileSync(join(to, 'LICENSES'), toLicenses(root));
  mkdirSync(join(to, 'bin'), { recursive: true });
  copyFileSync(join(dist, LAUNCHER), join(to, 'bin', LAUNCHER));
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  setModes(to);
  return manifest.version;
}

function copyNativeParts({ root, to, architecture }: InstallTreeOptions): void {
  const work = mkdtempSync(join(tmpdir(), 'remora-parts-'));
  try {
    for (const part of toNativeParts(architecture)) {
      const from = findPart(part, { root, work });
      for (const path of part.paths) {
        const copy = join(to, 'node_modules', part.name, path);
        mkdirSync(dirname(copy), { recursive: true });
        cpSync(join(from, path), copy, { recursive: true });
      }
    }
  } finally {
    rmSync(work, { recursive: true });
  }
  const command = join(to, NODE_COMMAND);
  mkdirSync(dirname(command), { recursive: true });
  rmSync(command, { force: true });
  symlinkSync('../node/bin/node', command);
  chmodSync(join(to, 'node_modules/node/bin/node'), EXECUTABLE);
}
