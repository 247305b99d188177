// Records each line read from the node: in the replica in memory, in the cache, for waiters and readers of the stream, and as
// events of the agent.
import type { ReplicationEvent, Transaction, TxEvent } from '../../contract/replication.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { createPrimaryDebounce } from '../../core/replication/primary-debounce.ts';
import { hostnameOf, type Primary, toPrimary } from '../../core/replication/primary-status.ts';
import { countMissed } from '../../core/replication/replication-position.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { CacheChange } from './cache/cache-change.ts';
import type { CacheWriter } from './cache/cache-writer.ts';
import type { FollowerListener, NodeIdentity } from './follow/follow-connection.ts';
import type { FollowFailure } from './follow/follow-failure.ts';
import type { CursorReaders } from './readers/cursor-readers.ts';
import type { EventReaders } from './readers/event-readers.ts';
import type { PositionWaiters } from './readers/position-waiters.ts';
import type { Replica, ReplicaStep } from './replica.ts';

export interface StreamCounts {
  lines: number;
  transactions: number;
  primary_changes: number;
  gaps: number;
  unknown: number;
  invalid: number;
  cut: number;
  refused: number;
}

export interface StreamRecorderOptions {
  readonly clock: Clock;
  readonly hub: Pick<EventHub, 'publish'>;
  readonly log: Log;
  readonly replica: Replica;
  readonly cache: CacheWriter;
  readonly waiters: PositionWaiters;
  readonly readers: EventReaders;
  readonly cursorReaders: CursorReaders;
  /** Called when the position of a database has changed, or the database is gone. */
  readonly onPosition: (db: string) => void;
  /** Called for every change of the primary, also one that does not last. */
  readonly onPrimary: () => void;
  /** Called for a change of the primary that lasted; `fields` are those of the event `primary_changed`. */
  readonly onPrimaryChange: (fields: Readonly<Record<string, unknown>>) => void;
  /** Called when the connection was made, was lost, or could not be made. */
  readonly onChange: (isConnected: boolean) => void;
}

export interface StreamRecorder extends FollowerListener, Disposable {
  /** Takes a position from the mounted directory, for a database of which nothing has come on this connection. */
  onMounted(db: string, transaction: Transaction): void;
  /** Takes the name of the primary from the mounted directory. */
  onMountedPrimary(hostname: string): void;
  readonly counts: Readonly<StreamCounts>;
  /** The node of the current connection, or of the last one. */
  readonly node: NodeIdentity;
  readonly connected: boolean;
  /** Why there is no connection; undefined while there is one, and until the first attempt has ended. */
  readonly failure: FollowFailure | undefined;
  readonly lastInvalid: { readonly reason: string; readonly at_ms: number } | undefined;
}

/**
 * Publishes `replication_connected`, `replication_disconnected`, `replication_unreachable` (once until it is connected again),
 * `replication_node_restarted`, `replication_cluster_changed`, `replication_gap`, `replication_rewound`,
 * `replication_diverged`, `replication_dropped`, and `primary_changed` for changes that lasted.
 */
export function createStreamRecorder(options: StreamRecorderOptions): StreamRecorder {
  const { cache, clock, cursorReaders, hub, log, readers, replica, waiters } = options;
  const counts: StreamCounts = {
    lines: 0,
    transactions: 0,
    primary_changes: 0,
    gaps: 0,
    unknown: 0,
    invalid: 0,
    cut: 0,
    refused: 0,
  };
  const debounce = createPrimaryDebounce();
  let debounceTimer: NodeJS.Timeout | undefined;
  let node: NodeIdentity = { nodeId: cache.fact('node_id'), clusterId: cache.fact('cluster_id') };
  let connected = false;
  let failure: FollowFailure | undefined;
  let lastInvalid: StreamRecorder['lastInvalid'];
  let warned = false;

  function setPrimary(primary: Primary): void {
    replica.setPrimary(primary, clock.wall_ms());
    options.onPrimary();
    debounce.observe(primary, clock.mono_ms());
    publishPrimary();
  }

  function publishPrimary(): void {
    clearTimeout(debounceTimer);
    const change = debounce.takeChange(clock.mono_ms());
    if (change !== undefined) {
      const { from, to } = change;
      const fields = { ...toFields(to), previous: toFields(from) };
      hub.publish('primary_changed', fields);
      options.onPrimaryChange(fields);
    }
    const pending_ms = debounce.pending_ms(clock.mono_ms());
    if (pending_ms !== undefined) debounceTimer = setTimeout(publishPrimary, pending_ms).unref();
  }

  function setNode(next: NodeIdentity): void {
    const before = node;
    node = { nodeId: next.nodeId ?? before.nodeId, clusterId: next.clusterId ?? before.clusterId };
    if (before.clusterId !== undefined && node.clusterId !== before.clusterId) {
      const gone = [...replica.entries.keys()];
      replica.clear();
      for (const db of gone) options.onPosition(db);
      cache.add([{ type: 'clear' }]);
      hub.publish('replication_cluster_changed', { cluster_id: node.clusterId, previous: before.clusterId });
    }
    if (before.nodeId !== undefined && node.nodeId !== before.nodeId) {
      hub.publish('replication_node_restarted', { node_id: node.nodeId, previous: before.nodeId });
    }
    const facts: CacheChange[] = [];
    if (node.nodeId !== undefined && node.nodeId !== before.nodeId) {
      facts.push({ type: 'fact', name: 'node_id', value: node.nodeId });
    }
    if (node.clusterId !== undefined && node.clusterId !== before.clusterId) {
      facts.push({ type: 'fact', name: 'cluster_id', value: node.clusterId });
    }
    if (facts.length > 0) cache.add(facts);
  }

  function onTransaction(event: TxEvent, line: string): void {
    counts.transactions += 1;
    const taken = recordTransaction(event);
    if (taken === undefined) cursorReaders.send(line);
    else cursorReaders.sendTransaction(line, event.db, taken.step, taken.seq);
  }

  function recordTransaction(
    event: TxEvent,
    source?: 'mount',
  ): { readonly step: ReplicaStep; readonly seq: number | undefined } | undefined {
    const step = replica.apply(event, clock.wall_ms(), source);
    if (step === undefined) {
      counts.refused += 1;
      return undefined;
    }
    const { db } = event;
    const seq = cache.add(toChanges(db, step));
    options.onPosition(db);
    publishStep(db, step);
    waiters.reached(db, step.entry);
    return { step, seq };
  }

  function publishStep(db: string, step: ReplicaStep): void {
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

  return {
    onConnected(identity, init, line) {
      counts.lines += 1;
      connected = true;
      failure = undefined;
      warned = false;
      setNode(identity);
      replica.doubtAll();
      const primary = toPrimary(init.data);
      hub.publish('replication_connected', {
        ...toFields(primary),
        node_id: node.nodeId ?? null,
        cluster_id: node.clusterId ?? null,
      });
      setPrimary(primary);
      readers.connected(line);
      cursorReaders.connected(line);
      options.onChange(connected);
    },
    onEvent(event: ReplicationEvent, line) {
      counts.lines += 1;
      switch (event.type) {
        case 'tx':
          onTransaction(event, line);
          break;
        case 'init':
        case 'primaryChange':
          counts.primary_changes += 1;
          setPrimary(toPrimary(event.data));
          cursorReaders.send(line);
          break;
        default:
          event satisfies never;
      }
      readers.send(line);
    },
    onUnknown(line) {
      counts.lines += 1;
      counts.unknown += 1;
      readers.send(line);
      cursorReaders.send(line);
    },
    onRead() {
      readers.flush();
      cursorReaders.flush();
    },
    onMounted(db, transaction) {
      if (!connected || replica.isConfirmed(db)) return;
      const known = replica.get(db);
      const isSame =
        known?.transaction.txID === transaction.txID &&
        known.transaction.postApplyChecksum === transaction.postApplyChecksum;
      // A transaction of the same id from the stream has the exact size and time.
      const event: TxEvent = { type: 'tx', db, data: isSame ? known.transaction : transaction };
      const taken = recordTransaction(event, 'mount');
      if (taken === undefined || taken.step.type === 'repeat') return;
      cursorReaders.sendTransaction(JSON.stringify(event), db, taken.step, taken.seq);
      cursorReaders.flush();
    },
    onMountedPrimary(hostname) {
      if (connected && replica.primary.type === 'unknown') setPrimary({ type: 'remote', hostname });
    },
    drained: () => cache.drained(),
    onInvalid(reason) {
      counts.lines += 1;
      counts.invalid += 1;
      lastInvalid = { reason, at_ms: clock.wall_ms() };
      if (!warned)
        log.warn({ reason }, 'the node sent a line that cannot be used; more on this connection are only counted');
      warned = true;
    },
    onCut() {
      counts.cut += 1;
    },
    onDisconnected(reason) {
      connected = false;
      failure = reason;
      replica.doubtAll();
      setPrimary({ type: 'unknown' });
      readers.disconnected();
      cursorReaders.disconnected();
      log.info({ code: reason.code, reason: reason.message }, 'the stream of the node ended');
      hub.publish('replication_disconnected', { code: reason.code, message: reason.message });
      options.onChange(connected);
    },
    onFailed(reason) {
      const isNews = reason.code !== failure?.code && reason.code !== 'resumed' && reason.code !== 'stopped';
      failure = reason;
      if (isNews) {
        log.warn({ code: reason.code, reason: reason.message }, 'the node cannot be followed');
        hub.publish('replication_unreachable', { code: reason.code, message: reason.message });
      }
      options.onChange(connected);
    },
    primary: () => replica.primary,
    counts,
    get node() {
      return node;
    },
    get connected() {
      return connected;
    },
    get failure() {
      return failure;
    },
    get lastInvalid() {
      return lastInvalid;
    },
    [Symbol.dispose]() {
      clearTimeout(debounceTimer);
    },
  };
}

function toChanges(db: string, step: ReplicaStep): CacheChange[] {
  const { cause, entry, missed } = step;
  if (step.type === 'repeat') return [{ type: 'position', db, entry }];
  const tx: CacheChange = { type: 'tx', db, entry };
  return missed === undefined ? [tx] : [{ type: 'gap', db, missed, cause, at_ms: entry.received_ms }, tx];
}

function toFields(primary: Primary): { primary: Primary['type']; hostname?: string } {
  const hostname = hostnameOf(primary);
  return hostname === undefined ? { primary: primary.type } : { primary: primary.type, hostname };
}
