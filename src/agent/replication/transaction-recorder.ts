// Records a transaction: in the replica in memory, in the cache, for those who wait for it, and as events of the agent when
// something is wrong with its place.
import type { TxEvent } from '../../contract/replication.ts';
import type { Clock } from '../../core/clock.ts';
import { countMissed } from '../../core/replication/replication-position.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { CacheChange } from './cache/cache-change.ts';
import type { CacheWriter } from './cache/cache-writer.ts';
import type { PositionWaiters } from './readers/position-waiters.ts';
import type { Replica, ReplicaStep } from './replica.ts';
import type { StreamCounts } from './stream-counts.ts';

export interface TransactionRecorderOptions {
  readonly clock: Clock;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly replica: Replica;
  readonly cache: CacheWriter;
  readonly waiters: PositionWaiters;
  /** Called when the position of a database has changed. */
  readonly onPosition: (db: string) => void;
}

export interface RecordedTransaction {
  readonly step: ReplicaStep;
  /** Undefined when the transaction has no row in the cache. */
  readonly seq: number | undefined;
}

/**
 * Undefined when there are too many databases to take another. Publishes `replication_gap`, `replication_rewound`,
 * `replication_diverged` and `replication_dropped`.
 */
export type RecordTransaction = (event: TxEvent, source?: 'mount') => RecordedTransaction | undefined;

export function createTransactionRecorder(
  options: TransactionRecorderOptions,
  counts: StreamCounts,
): RecordTransaction {
  const { cache, clock, hub, replica, waiters } = options;

  function publish(db: string, step: ReplicaStep): void {
    const { missed, type } = step;
    if (missed !== undefined) {
      counts.gaps += 1;
      if (step.cause !== 'before_first') {
        hub.publish('replication_gap', { db, ...missed, missing: countMissed(missed), cause: step.cause });
      }
    }
    if (type === 'rewound' || type === 'diverged' || type === 'dropped') {
      const { txID, postApplyChecksum } = step.entry.transaction;
      hub.publish(`replication_${type}`, { db, txID, postApplyChecksum });
    }
  }

  return (event, source) => {
    const step = replica.apply(event, clock.wall_ms(), source);
    if (step === undefined) {
      counts.refused += 1;
      return undefined;
    }
    const { db } = event;
    const seq = cache.add(toChanges(db, step));
    options.onPosition(db);
    publish(db, step);
    waiters.reached(db, step.entry);
    return { step, seq };
  };
}

function toChanges(db: string, step: ReplicaStep): CacheChange[] {
  const { cause, entry, missed } = step;
  if (step.type === 'repeat') return [{ type: 'position', db, entry }];
  const tx: CacheChange = { type: 'tx', db, entry };
  return missed === undefined ? [tx] : [{ type: 'gap', db, missed, cause, at_ms: entry.received_ms }, tx];
}
