// Builds the answers of the replication part in the shapes of the contract: positions, history rows and the whole status. Pure.
import type { CachedRow, ReplicaPosition, ReplicationStatus } from '../../contract/local/replication.ts';
import { toDateTime } from '../../core/clock.ts';
import { hostnameOf } from '../../core/replication/primary-status.ts';
import { countMissed, type MissedRange } from '../../core/replication/replication-position.ts';
import type { HistoryRow } from './cache/cache-change.ts';
import type { CacheWriter } from './cache/cache-writer.ts';
import type { Follower } from './follow/follower.ts';
import type { MountedNode } from './mount/mounted-node.ts';
import type { CursorReaders } from './readers/cursor-readers.ts';
import type { EventReaders } from './readers/event-readers.ts';
import type { PositionWaiters } from './readers/position-waiters.ts';
import type { Replica, ReplicaEntry } from './replica.ts';
import { createStreamCounts } from './stream-counts.ts';
import type { StreamRecorder } from './stream-recorder.ts';

/** The pieces that run while a node is followed. */
export interface Following {
  readonly node: URL;
  readonly replica: Replica;
  readonly waiters: PositionWaiters;
  readonly readers: EventReaders;
  readonly cursorReaders: CursorReaders;
  readonly mount: MountedNode | undefined;
  readonly cache: CacheWriter;
  readonly recorder: StreamRecorder;
  readonly follower: Follower;
}

/** The answer of GET /v1/replication without the databases. */
export type ReplicationSummary = Omit<ReplicationStatus, 'databases'>;

/** Why a position is not `live`; undefined when the current connection has confirmed it and the cache stores it. */
export function toDoubt(following: Following, db: string): string | undefined {
  const { cache, recorder, replica } = following;
  if (!recorder.connected) return 'the node is not connected';
  if (!replica.isConfirmed(db)) return 'no transaction of this database has come since the node was connected';
  if (cache.condition.state === 'memory' || cache.condition.state === 'failed') {
    return `not kept: ${cache.condition.reason ?? 'the cache cannot be written'}`;
  }
  return undefined;
}

/** The answer of GET /v1/replication but for the list. While the part is off or its cache is being opened, it is empty, dated with `created_ms`. */
export function toReplicationSummary(
  following: Following | 'off' | 'idle',
  created_ms: number,
  now_ms: number,
): ReplicationSummary {
  if (typeof following === 'string') return toOffStatus(following, created_ms, now_ms);
  const { cache, cursorReaders, follower, node, readers, recorder, replica, waiters } = following;
  const { connects, failures, last, since_ms, state } = follower.status();
  const hostname = hostnameOf(replica.primary);
  const { reason } = cache.condition;
  const invalid = recorder.lastInvalid;
  return {
    primary: replica.primary.type,
    ...(hostname === undefined ? {} : { hostname }),
    primary_since: toDateTime(replica.primarySince_ms),
    connection: {
      state,
      since: toDateTime(since_ms),
      age_ms: toAge(since_ms, now_ms),
      node_url: `${node.origin}${node.pathname}`,
      node_id: recorder.node.nodeId ?? null,
      cluster_id: recorder.node.clusterId ?? null,
      connects,
      failures_in_a_row: failures,
      last_failure:
        last === undefined
          ? null
          : { code: last.failure.code, message: last.failure.message, at: toDateTime(last.at_ms) },
    },
    cache: { state: cache.condition.state, ...(reason === undefined ? {} : { reason }) },
    counts: { ...recorder.counts },
    last_invalid: invalid === undefined ? null : { reason: invalid.reason, at: toDateTime(invalid.at_ms) },
    readers: readers.size + cursorReaders.size,
    waiters: waiters.size,
  };
}

function toOffStatus(state: 'off' | 'idle', created_ms: number, now_ms: number): ReplicationSummary {
  const since = toDateTime(created_ms);
  return {
    primary: 'unknown',
    primary_since: since,
    connection: {
      state,
      since,
      age_ms: toAge(created_ms, now_ms),
      node_url: null,
      node_id: null,
      cluster_id: null,
      connects: 0,
      failures_in_a_row: 0,
      last_failure: null,
    },
    cache: { state: 'off' },
    counts: createStreamCounts(),
    last_invalid: null,
    readers: 0,
    waiters: 0,
  };
}

/**
 * One position as it is answered (Suspend and Replication, Event stream, 4 to 6). A doubt makes it `stale`, because the last
 * transaction known says nothing about later ones. Clocks of servers differ, so `lag_ms` is never below 0.
 */
export function toPosition(
  db: string,
  entry: ReplicaEntry,
  doubt: string | undefined,
  now_ms: number,
): ReplicaPosition {
  const { transaction, received_ms } = entry;
  return {
    db,
    ...transaction,
    size_bytes: transaction.commit * transaction.pageSize,
    lag_ms: Math.max(0, Math.round(received_ms - Date.parse(transaction.timestamp))),
    received_at: toDateTime(received_ms),
    age_ms: toAge(received_ms, now_ms),
    state: doubt === undefined ? entry.standing : 'stale',
    ...(doubt === undefined ? {} : { reason: doubt }),
    ...(entry.source === undefined ? {} : { source: entry.source }),
  };
}

export function toCachedRow(row: HistoryRow): CachedRow {
  if (row.type === 'gap') return { ...toGap(row.missed), seq: row.seq, cause: row.cause, at: toDateTime(row.at_ms) };
  const { transaction, received_ms, standing } = row.entry;
  return {
    type: 'tx',
    seq: row.seq,
    ...transaction,
    size_bytes: transaction.commit * transaction.pageSize,
    received_at: toDateTime(received_ms),
    state: standing,
  };
}

function toAge(since_ms: number, now_ms: number): number {
  return Math.max(0, Math.round(now_ms - since_ms));
}

/** The row that says that the cache has dropped older transactions. */
export function toTrimmedRow(missed: MissedRange): CachedRow {
  return { ...toGap(missed), seq: null, cause: 'trimmed', at: null };
}

function toGap(missed: MissedRange): { type: 'gap'; from: string; to: string; missing: number } {
  return { type: 'gap', from: missed.from, to: missed.to, missing: countMissed(missed) };
}
