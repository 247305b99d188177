// Records each line read from the node: in the replica in memory, in the cache, for waiters and readers of the stream, and as
// events of the agent.
import type { ReplicationEvent, Transaction, TxEvent } from '../../contract/replication.ts';
import type { Log } from '../../core/log.ts';
import { toPrimary } from '../../core/replication/primary-status.ts';
import type { FollowerListener, NodeIdentity } from './follow/follow-connection.ts';
import type { FollowFailure } from './follow/follow-failure.ts';
import { createInvalidLines, type InvalidLine } from './invalid-lines.ts';
import { createNodeRecorder, type NodeRecorderOptions } from './node-recorder.ts';
import { createPrimaryRecorder, type PrimaryRecorderOptions, toPrimaryFields } from './primary-recorder.ts';
import type { CursorReaders } from './readers/cursor-readers.ts';
import type { EventReaders } from './readers/event-readers.ts';
import type { ReaderWrites } from './readers/reader-writes.ts';
import { createStreamCounts, type StreamCounts } from './stream-counts.ts';
import { createTransactionRecorder, type TransactionRecorderOptions } from './transaction-recorder.ts';

export interface StreamRecorderOptions extends NodeRecorderOptions, PrimaryRecorderOptions, TransactionRecorderOptions {
  readonly log: Log;
  readonly readers: EventReaders;
  readonly cursorReaders: CursorReaders;
  readonly writes: ReaderWrites;
  /** Called when the position of a database has changed, or the database is gone. */
  readonly onPosition: (db: string) => void;
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
  readonly lastInvalid: InvalidLine | undefined;
}

/**
 * Publishes `replication_connected`, `replication_disconnected` and `replication_unreachable` (once until it is connected again),
 * and what the recorders of the node, the primary and the transactions publish.
 */
export function createStreamRecorder(options: StreamRecorderOptions): StreamRecorder {
  const { cache, clock, cursorReaders, hub, log, readers, replica } = options;
  const counts = createStreamCounts();
  const nodes = createNodeRecorder(options);
  const primaries = createPrimaryRecorder(options);
  const record = createTransactionRecorder(options, counts);
  const invalid = createInvalidLines(clock, log);
  let connected = false;
  let failure: FollowFailure | undefined;

  function onTransaction(event: TxEvent, line: string): void {
    counts.transactions += 1;
    const taken = record(event);
    if (taken === undefined) cursorReaders.send(line);
    else cursorReaders.sendTransaction(line, event.db, taken.step, taken.seq);
  }

  return {
    onConnected(identity, init, line) {
      counts.lines += 1;
      connected = true;
      failure = undefined;
      invalid.connected();
      nodes.set(identity);
      replica.doubtAll();
      const primary = toPrimary(init.data);
      hub.publish('replication_connected', {
        ...toPrimaryFields(primary),
        node_id: nodes.node.nodeId ?? null,
        cluster_id: nodes.node.clusterId ?? null,
      });
      primaries.set(primary);
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
          primaries.set(toPrimary(event.data));
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
    onRead: () => flush(options),
    onMounted(db, transaction) {
      if (!connected || replica.isConfirmed(db)) return;
      const event: TxEvent = { type: 'tx', db, data: toExact(transaction, replica.get(db)?.transaction) };
      const taken = record(event, 'mount');
      if (taken === undefined || taken.step.type === 'repeat') return;
      cursorReaders.sendTransaction(JSON.stringify(event), db, taken.step, taken.seq);
      cursorReaders.flush();
    },
    onMountedPrimary(hostname) {
      if (connected && replica.primary.type === 'unknown') primaries.set({ type: 'remote', hostname });
    },
    drained: () => cache.drained(),
    onInvalid(reason) {
      counts.lines += 1;
      counts.invalid += 1;
      invalid.add(reason);
    },
    onCut() {
      counts.cut += 1;
    },
    onDisconnected(reason) {
      connected = false;
      failure = reason;
      replica.doubtAll();
      primaries.set({ type: 'unknown' });
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
      return nodes.node;
    },
    get connected() {
      return connected;
    },
    get failure() {
      return failure;
    },
    get lastInvalid() {
      return invalid.last;
    },
    [Symbol.dispose]: () => primaries[Symbol.dispose](),
  };
}

function flush({ cursorReaders, readers, writes }: StreamRecorderOptions): Promise<void> | undefined {
  readers.flush();
  cursorReaders.flush();
  return writes.done();
}

/** A transaction of the same id from the stream has the exact size and time. */
function toExact(mounted: Transaction, known: Transaction | undefined): Transaction {
  const isSame = known?.txID === mounted.txID && known.postApplyChecksum === mounted.postApplyChecksum;
  return isSame ? known : mounted;
}
