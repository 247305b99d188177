// What is kept of the stream: the changes that events make, and the rows of history that come of them.
import type { GapCause } from '../../contract/local/replication.ts';
import type { MissedRange } from '../../core/replication-position.ts';
import type { ReplicaEntry } from './replica.ts';

export type FactName = 'node_id' | 'cluster_id';

interface Gap {
  readonly type: 'gap';
  readonly missed: MissedRange;
  readonly cause: GapCause;
  readonly at_ms: number;
}

/** What one event changes. `position` alone confirms; `tx` and `gap` are history too. */
export type CacheChange =
  | { readonly type: 'tx'; readonly db: string; readonly entry: ReplicaEntry }
  | (Gap & { readonly db: string })
  | { readonly type: 'position'; readonly db: string; readonly entry: ReplicaEntry }
  | { readonly type: 'fact'; readonly name: FactName; readonly value: string }
  | { readonly type: 'clear' };

/** `seq` grows with every row of any database, in the order of arrival. */
export type HistoryRow =
  | { readonly type: 'tx'; readonly seq: number; readonly entry: ReplicaEntry }
  | (Gap & { readonly seq: number });
