// What the package installs as /opt/remora, made of the sources for this machine.
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { toOwnArchitecture } from '../../src/cli/package/architecture.ts';
import { makeInstallTree } from '../../src/cli/package/install-tree.ts';

const root = new URL('../../', import.meta.url).pathname;

export interface InstalledTree extends Disposable {
  readonly path: string;
}

/** Makes it in a directory of its own, which goes with it. */
export async function makeInstalledTree(): Promise<InstalledTree> {
  const dir = mkdtempSync('/var/tmp/remora-tree-');
  const path = join(dir, 'tree');
  await makeInstallTree({ root, to: path, architecture: toOwnArchitecture() });
  return { path, [Symbol.dispose]: () => rmSync(dir, { recursive: true }) };
}
