// Volumes of this driver: a directory for each, and a link to it below the writable files of the machine that mounts it.
import { lstatSync, mkdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RemoraError } from '../../../../core/remora-error.ts';
import { makeDirectory } from '../../../../linux/make-directory.ts';
import type { MountedVolume } from '../machine-driver.ts';
import type { MachineVolumes } from '../machine-volumes.ts';
import { toStorageFull } from '../storage-full.ts';
import { removeTree } from './checkpoints/remove-tree.ts';

/** A directory has no size of its own: the disk of the host is the limit. */
export function createProcessVolumes(dir: string): MachineVolumes {
  return {
    async make(id) {
      try {
        makeDirectory(dir, 0o700);
        makeDirectory(join(dir, id), 0o700);
      } catch (error) {
        throw toStorageFull(error);
      }
    },
    extend: async () => true,
    remove: (id) => removeTree(join(dir, id)),
  };
}

/** Links each volume into `home`. Throws `invalid_state` for a volume that is gone, and for a file in the place of a link. */
export function linkVolumes(volumesDir: string, home: string, volumes: readonly MountedVolume[]): void {
  for (const { id, path } of volumes) {
    const target = join(volumesDir, id);
    if (statSync(target, { throwIfNoEntry: false })?.isDirectory() !== true) {
      throw new RemoraError('invalid_state', `the files of the volume ${id} are not on this host`);
    }
    const link = join(home, path);
    const found = lstatSync(link, { throwIfNoEntry: false });
    if (found !== undefined && !found.isSymbolicLink()) {
      throw new RemoraError('invalid_state', `the volume ${id} cannot be mounted: the machine has a file at ${path}`);
    }
    rmSync(link, { force: true });
    mkdirSync(dirname(link), { recursive: true, mode: 0o700 });
    symlinkSync(target, link);
  }
}
