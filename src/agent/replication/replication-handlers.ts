// The rows of the replication part: the stream again, the report, one position, waiting, and the history.
import type { ReplicaPosition, ReplicationReport, replicationOperations } from '../../contract/local/replication.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { missedBetween, nextTxId } from '../../core/replication-position.ts';
import type { Handlers } from '../../http/handler.ts';
import type { ReplicaEntry } from './replica.ts';
import { type Following, toCachedRow, toDoubt, toPosition, toTrimmedRow } from './replication-report.ts';

const FIRST_ID = '0000000000000001';

export interface ReplicationHandlersOptions {
  readonly clock: Clock;
  /** Undefined while the part is off. */
  readonly following: () => Following | undefined;
  readonly report: () => ReplicationReport;
}

export function createReplicationHandlers(
  options: ReplicationHandlersOptions,
): Handlers<typeof replicationOperations, unknown> {
  const { clock } = options;

  function need(): Following {
    const following = options.following();
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
    nodeEvents(_call, sink) {
      const following = need();
      following.readers.add(sink, following.replica.primary);
    },
    replication: () => options.report(),
    replicaPosition({ params }) {
      const following = need();
      return answer(following, params.db, needEntry(following, params.db));
    },
    async waitForTransaction({ params, query, signal }) {
      const following = need();
      const { db } = params;
      const known = following.replica.get(db);
      if (known !== undefined && known.transaction.txID >= query.txid) return answer(following, db, known);
      return answer(following, db, await following.waiters.wait(db, query.txid, query.timeout, signal));
    },
    cachedTransactions({ params, query }) {
      const following = need();
      const { db } = params;
      needEntry(following, db);
      const page = following.cache.read((cache) => {
        const start = query.after === undefined ? Number(query.cursor ?? 0) : cache.seqOf(db, query.after);
        const rows = cache.history(db, start, query.limit).map(toCachedRow);
        const trimmed = cache.trimmed(db);
        if (trimmed === undefined || start >= trimmed.seq) return { rows, start };
        const from = query.after === undefined ? FIRST_ID : nextTxId(query.after);
        const missed = missedBetween(from, nextTxId(trimmed.txID));
        return { rows: missed === undefined ? rows : [toTrimmedRow(missed), ...rows], start: trimmed.seq };
      });
      if (page === undefined) {
        throw new RemoraError('not_ready', following.cache.condition.reason ?? 'the cache cannot be read');
      }
      const last = page.rows.at(-1)?.seq ?? page.start;
      return { db, transactions: page.rows, next: last === 0 ? null : String(last) };
    },
  };
}
