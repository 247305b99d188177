// Keeps in the record of a sprite when its machine ran and when it was warm, as of the last change.
import type { MachineMove } from '../machines/moves/machine-move.ts';
import type { SpriteStore } from './sprite-store.ts';

/** Only a move to `running` or to `suspended` leaves a time. */
export async function recordMove(
  sprites: Pick<SpriteStore, 'markRunning' | 'markWarm'>,
  { sprite_id, state, at_ms }: MachineMove,
): Promise<void> {
  if (state === 'running') await sprites.markRunning(sprite_id, at_ms);
  if (state === 'suspended') await sprites.markWarm(sprite_id, at_ms);
}
