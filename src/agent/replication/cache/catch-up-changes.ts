// Lists what to write once the cache can be written again: positions that moved meanwhile, each after a gap for the transactions
// that were seen and not saved. Pure.
import { missedBetween, nextTxId } from '../../../core/replication/replication-position.ts';
import type { ReplicaEntry } from '../replica.ts';
import type { CacheChange, FactName } from './cache-change.ts';

const FIRST_ID = '0000000000000001';

export interface CatchUpOptions {
  readonly saved: ReadonlyMap<string, ReplicaEntry>;
  readonly current: ReadonlyMap<string, ReplicaEntry>;
  readonly facts: ReadonlyMap<FactName, string>;
  /** True when the cluster changed while the cache could not be written: the stored rows belong to the old one. */
  readonly mustClear: boolean;
  readonly now_ms: number;
}

export function toCatchUpChanges(options: CatchUpOptions): CacheChange[] {
  const changes: CacheChange[] = options.mustClear ? [{ type: 'clear' }] : [];
  for (const [name, value] of options.facts) changes.push({ type: 'fact', name, value });
  for (const [db, entry] of options.current) {
    const before = options.mustClear ? undefined : options.saved.get(db);
    if (before !== undefined && sameTransaction(before, entry)) continue;
    const from = before === undefined ? FIRST_ID : nextTxId(before.transaction.txID);
    const missed = missedBetween(from, entry.transaction.txID);
    if (missed !== undefined) changes.push({ type: 'gap', db, missed, cause: 'not_saved', at_ms: options.now_ms });
    changes.push({ type: 'tx', db, entry });
  }
  return changes;
}

function sameTransaction(a: ReplicaEntry, b: ReplicaEntry): boolean {
  return (
    a.transaction.txID === b.transaction.txID &&
    a.transaction.postApplyChecksum === b.transaction.postApplyChecksum &&
    a.standing === b.standing
  );
}
