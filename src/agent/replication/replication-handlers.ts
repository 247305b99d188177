// The operations of the replication part: the stream, the status, one position, waiting for one, and the history.
import type { ReplicaPosition, ReplicationStatus, replicationOperations } from '../../contract/local/replication.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { missedBetween, nextTxId } from '../../core/replication/replication-position.ts';
import { parseTxCookies, toTxCookies } from '../../core/replication/tx-cookie.ts';
import type { Handlers } from '../../http/handler.ts';
import type { ReplicaEntry } from './replica.ts';
import { type Following, toCachedRow, toDoubt, toPosition, toTrimmedRow } from './replication-status.ts';

const FIRST_ID = '0000000000000001';

export interface ReplicationHandlersOptions {
  readonly clock: Clock;
  /** Resolves once the cache is open; to undefined while the part is off. */
  readonly following: () => Promise<Following | undefined>;
  readonly status: () => Promise<ReplicationStatus>;
}

export function createReplicationHandlers(
  options: ReplicationHandlersOptions,
): Handlers<typeof replicationOperations, unknown> {
  const { clock } = options;

  async function need(): Promise<Following> {
    const following = await options.following();
    if (following !== undefined) return following;
    throw new RemoraError('not_configured', 'no database node is configured; set REMORA_NODE_URL');
  }

  function needEntry(following: Following, db: string): ReplicaEntry {
    const entry = following.replica.get(db);
    if (entry !== undefined) return entry;
    throw new RemoraError('unknown_database', `no transaction of a database ${JSON.stringify(db)} has been seen`);
  }

  function answer(following: Following, db: string, entry: ReplicaEntry): ReplicaPosition {
    return toPosition(db, entry, toDoubt(following, db), clock.wall_ms());
  }

  return {
    async nodeEvents({ query }, sink) {
      const { cursorReaders, readers, replica } = await need();
      const { since } = query;
      if (since === undefined) readers.add(sink, replica.primary);
      else cursorReaders.add(sink, since === 'now' ? undefined : Number(since), readers.initLine(replica.primary));
    },
    replication: () => options.status(),
    async replicaPosition({ params }) {
      const following = await need();
      return answer(following, params.db, needEntry(following, params.db));
    },
    async waitForTransaction({ params, query, signal }) {
      const following = await need();
      const { db } = params;
      const txID = query.txid ?? query.txnum ?? parseTxCookies(query.cookie ?? '');
      if (txID === undefined) return answer(following, db, needEntry(following, db));
      const known = following.replica.get(db);
      if (known !== undefined && known.transaction.txID >= txID) return answer(following, db, known);
      return answer(following, db, await following.waiters.wait(db, txID, query.timeout, signal));
    },
    async replicationToken({ params }) {
      const following = await need();
      const { db } = params;
      // When the directory cannot be read, the position from the stream is answered.
      const mounted = await following.mount?.read(db).catch(() => undefined);
      const { txID } = mounted ?? needEntry(following, db).transaction;
      return { db, __txid: txID, ...toTxCookies(txID), source: mounted === undefined ? 'stream' : 'mount' };
    },
    async cachedTransactions({ params, query }) {
      const following = await need();
      const { db } = params;
      needEntry(following, db);
      const { after, limit } = query;
      const from =
        after === undefined
          ? ({ type: 'seq', seq: Number(query.cursor ?? 0) } as const)
          : ({ type: 'tx', txID: after } as const);
      const page = await following.cache.history(db, from, limit);
      if (page === undefined) {
        throw new RemoraError('not_ready', following.cache.condition.reason ?? 'the cache cannot be read');
      }
      const { rows, start, trimmed } = page;
      const isTrimmed = trimmed !== undefined && start < trimmed.seq;
      const missed = isTrimmed
        ? missedBetween(after === undefined ? FIRST_ID : nextTxId(after), nextTxId(trimmed.txID))
        : undefined;
      const transactions = [...(missed === undefined ? [] : [toTrimmedRow(missed)]), ...rows.map(toCachedRow)];
      const last = rows.at(-1)?.seq ?? (isTrimmed ? trimmed.seq : start);
      return { db, transactions, next: last === 0 ? null : String(last) };
    },
  };
}
