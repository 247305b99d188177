// What the cache stores of the stream: the changes that events make, and the rows of history that result from them.
import type { GapCause } from '../../../contract/local/replication.ts';
import type { MissedRange } from '../../../core/replication/replication-position.ts';
import type { ReplicaEntry } from '../replica.ts';

export type FactName = 'node_id' | 'cluster_id';

interface Gap {
  readonly type: 'gap';
  readonly missed: MissedRange;
  readonly cause: GapCause;
  readonly at_ms: number;
}

/** What one event changes. `position` confirms a position only; `tx` and `gap` are rows of history too. */
export type CacheChange =
  | { readonly type: 'tx'; readonly db: string; readonly entry: ReplicaEntry }
  | (Gap & { readonly db: string })
  | { readonly type: 'position'; readonly db: string; readonly entry: ReplicaEntry }
  | { readonly type: 'fact'; readonly name: FactName; readonly value: string }
  | { readonly type: 'clear' };

/** `seq` numbers the rows of all databases in the order in which they came. */
export type HistoryRow =
  | { readonly type: 'tx'; readonly seq: number; readonly entry: ReplicaEntry }
  | (Gap & { readonly seq: number });
