// Puts a copy in the place of a machine's files, in steps that can be done again: once the first one is on the disk, whatever comes after
// it is finished, at the latest by the next platform.
//
//   begin ──▶ set the files aside ──▶ put the copy in place ──▶ services ──▶ over
import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { syncDirectory } from '../../durable-json.ts';
import { CheckpointFiles, type CheckpointPlaces } from './checkpoint-places.ts';
import { type CheckpointState, readState, writeState } from './checkpoint-record.ts';
import { putServicesBack } from './services-copy.ts';

/** Runs before each step, for the log. */
export type OnStep = (step: string) => void;

/** The copy is whole and on the disk, and the machine does not run. */
export async function beginRestore(
  places: CheckpointPlaces,
  copy: CheckpointFiles,
  id: string,
  onStep: OnStep,
): Promise<void> {
  onStep('begin the restore');
  const state = await readState(places);
  await writeState(places, { ...state, pending: { type: 'restore', id, from: basename(copy.dir) } });
  await finishPending(places, onStep);
}

/** Finishes what was begun. Does nothing when nothing was. */
export async function finishPending(places: CheckpointPlaces, onStep: OnStep): Promise<void> {
  if (!existsSync(places.all)) return;
  const state = await readState(places);
  const { pending } = state;
  if (pending === undefined) return;
  if (pending.type === 'make') await finishMake(places, state, pending.id);
  else await finishRestore(places, state, pending, onStep);
}

/** The checkpoint is there or it is not; only in the first case do the files come from it. */
async function finishMake(places: CheckpointPlaces, { pending: _, ...state }: CheckpointState, id: string) {
  await writeState(places, existsSync(places.of(id).dir) ? { ...state, current: id } : state);
}

async function finishRestore(
  places: CheckpointPlaces,
  { pending: _, ...state }: CheckpointState,
  { id, from }: { readonly id: string; readonly from: string },
  onStep: OnStep,
): Promise<void> {
  const copy = new CheckpointFiles(join(places.all, from));
  const aside = join(copy.dir, 'aside');
  if (existsSync(copy.tree)) {
    onStep('set the files aside');
    // Those that are there after the files were set aside have been made since, and are empty.
    if (existsSync(places.home)) await rename(places.home, existsSync(aside) ? `${aside}-again` : aside);
    onStep('put the copy in place');
    await rename(copy.tree, places.home);
  }
  await mkdir(places.home, { recursive: true, mode: 0o700 });
  await syncDirectory(places.machine);
  onStep('put the services back');
  await putServicesBack(copy.services, places.services);
  onStep('end the restore');
  await writeState(places, { ...state, current: id });
}
