// Gives a checkpoint whose files are whole its number and its record.
import { rename } from 'node:fs/promises';
import { syncDirectory } from '../../durable-json.ts';
import type { DriverCheckpoint, NewCheckpoint } from '../../machine-checkpoints.ts';
import type { CheckpointFiles, CheckpointPlaces } from './checkpoint-places.ts';
import { readState, writeManifest, writeState } from './checkpoint-record.ts';
import { finishPending } from './pending-restore.ts';
import { renewRecentLinks } from './recent-links.ts';

/** Each step may be the last one before a crash: the checkpoint is there whole, or it is not there. */
export async function nameCheckpoint(
  made: CheckpointFiles,
  { comment, is_auto }: NewCheckpoint,
  places: CheckpointPlaces,
  onStep: (step: string) => void,
): Promise<DriverCheckpoint> {
  const state = await readState(places);
  const id = `v${state.next}`;
  const record = { created_ms: Date.now(), comment, source_id: state.current, is_auto };
  onStep('write the record');
  await writeManifest(made, record);
  onStep('take the number');
  await writeState(places, { ...state, next: state.next + 1, pending: { type: 'make', id } });
  onStep('name the checkpoint');
  await rename(made.dir, places.of(id).dir);
  await syncDirectory(places.all);
  onStep('stand on the checkpoint');
  await finishPending(places, onStep);
  onStep('renew the links');
  await renewRecentLinks(places);
  return { id, ...record, is_healthy: true };
}
