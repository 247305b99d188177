// Lists the positions of all databases by name, some of them in each turn of the loop, so that other calls do not wait for a long list.
import type { ReplicaPosition } from '../../contract/local/replication.ts';
import type { Clock } from '../../core/clock.ts';
import { nextSlice } from '../../core/next-slice.ts';
import { type Following, toDoubt, toPosition } from './replication-status.ts';

/** A few milliseconds of work. */
const POSITIONS_PER_TURN = 1_000;

/** Each position is that of the turn in which it is listed. A database that is forgotten meanwhile is left out. */
export async function listPositions(following: Following, clock: Clock): Promise<readonly ReplicaPosition[]> {
  const { replica } = following;
  const positions: ReplicaPosition[] = [];
  for (const [index, db] of [...replica.entries.keys()].sort().entries()) {
    if (index > 0 && index % POSITIONS_PER_TURN === 0) await nextSlice();
    const entry = replica.get(db);
    if (entry !== undefined) positions.push(toPosition(db, entry, toDoubt(following, db), clock.wall_ms()));
  }
  return positions;
}
