// The directory through which programs of a machine read its last checkpoints: a link to the files of each.
import { mkdir, readdir, rm, symlink } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { errorCode } from '../../../../../core/error-code.ts';
import type { CheckpointPlaces } from './checkpoint-places.ts';
import { listIds } from './checkpoint-record.ts';

const KEPT = 5;

/** Makes the links those of the last five. */
export async function renewRecentLinks(places: CheckpointPlaces): Promise<void> {
  const wanted = new Set((await listIds(places)).slice(-KEPT));
  await mkdir(places.recent, { mode: 0o700 }).catch(ignoreExisting);
  const found = new Set(await readdir(places.recent));
  for (const name of found)
    if (!wanted.has(name)) await rm(join(places.recent, name), { recursive: true, force: true });
  for (const id of wanted) {
    if (found.has(id)) continue;
    await symlink(relative(places.recent, places.of(id).tree), join(places.recent, id)).catch(ignoreExisting);
  }
}

function ignoreExisting(error: unknown): void {
  if (errorCode(error) !== 'EEXIST') throw error;
}
