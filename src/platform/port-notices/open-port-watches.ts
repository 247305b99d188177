// The watches of ports, with what makes them look: notices and ends that this process records, and all that it is not told of.
import type { Changes } from '../changes.ts';
import type { NoticeStore } from './port-notice-store.ts';
import { PortWatches } from './port-watches.ts';

/** Another platform process may take the notices of a sprite that is watched here. */
const POLL_MS = 1_000;

export interface PortWatchesDeps {
  readonly notices: Pick<NoticeStore, 'listOpen'>;
  readonly changes: Pick<Changes, 'subscribe'>;
  /** Several platform processes use the database. */
  readonly isShared: boolean;
}

export function openPortWatches({ notices, changes, isShared }: PortWatchesDeps): PortWatches {
  const watches = new PortWatches({ notices, poll_ms: isShared ? POLL_MS : undefined });
  changes.subscribe('machine_moved', ({ sprite_id }) => watches.look(sprite_id));
  changes.subscribe('sprite_changed', ({ sprite_id }) => void watches.recheckOf(sprite_id));
  changes.subscribe('revalidation_due', () => void watches.recheck());
  return watches;
}
