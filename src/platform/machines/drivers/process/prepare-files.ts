// The files of a machine before a boot: its directory, its writable files as new where a stop resets them, and its volumes.
import { join } from 'node:path';
import type { MachineSpec } from '../machine-driver.ts';
import { removeTree } from './checkpoints/remove-tree.ts';
import { HOME, openMachineDirectory } from './machine-directory.ts';
import { linkVolumes } from './process-volumes.ts';

/** Throws what `openMachineDirectory` and `linkVolumes` throw. */
export async function prepareFiles(
  { id, resetsRoot, volumes }: MachineSpec,
  { dir, volumesDir }: { readonly dir: string; readonly volumesDir: string },
): Promise<void> {
  if (resetsRoot) await removeTree(join(dir, id, HOME));
  linkVolumes(volumesDir, join(openMachineDirectory(dir, id), HOME), volumes);
}
