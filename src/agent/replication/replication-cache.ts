// replication.db: positions, a bounded history with its gaps, and which node and cluster they came from. A batch is one
// transaction, so that after a kill the positions are those of the last batch, with their gap rows (lessons.md, 12 and 15).
import { z } from 'zod';
import type { GapCause } from '../../contract/local/replication.ts';
import type { Transaction } from '../../contract/replication.ts';
import type { MissedRange } from '../../core/replication-position.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { ReplicaEntry } from './replica.ts';

/** Rows of history in all; the oldest go first. */
export const HISTORY_CAP = 100_000;

/** What one event changes. `position` alone confirms; `tx` and `gap` are history too. */
export type CacheChange =
  | { readonly type: 'tx'; readonly db: string; readonly entry: ReplicaEntry }
  | {
      readonly type: 'gap';
      readonly db: string;
      readonly missed: MissedRange;
      readonly cause: GapCause;
      readonly at_ms: number;
    }
  | { readonly type: 'position'; readonly db: string; readonly entry: ReplicaEntry }
  | { readonly type: 'fact'; readonly name: FactName; readonly value: string }
  | { readonly type: 'clear' };

export type FactName = 'node_id' | 'cluster_id';

export type HistoryRow =
  | { readonly type: 'tx'; readonly seq: number; readonly entry: ReplicaEntry }
  | {
      readonly type: 'gap';
      readonly seq: number;
      readonly missed: MissedRange;
      readonly cause: GapCause;
      readonly at_ms: number;
    };

export interface TrimmedMark {
  readonly seq: number;
  readonly txID: string;
}

export interface ReplicationCache extends Disposable {
  positions(): Map<string, ReplicaEntry>;
  fact(name: FactName): string | undefined;
  /** All of it or nothing. Throws what SQLite throws. */
  commit(changes: readonly CacheChange[]): void;
  /** Rows of one database with a `seq` above the given one, oldest first. */
  history(db: string, afterSeq: number, limit: number): HistoryRow[];
  /** The `seq` of the row that holds a transaction or, failing that, the one before it; 0 when there is none. */
  seqOf(db: string, txID: string): number;
  /** The newest row of a database that was let go; undefined while all of it is kept. */
  trimmed(db: string): TrimmedMark | undefined;
  checkpoint(): void;
}

const standing = z.enum(['live', 'rewound', 'diverged', 'dropped']);
const positionRow = z.object({
  db: z.string(),
  tx_id: z.string(),
  checksum: z.string(),
  page_size: z.number(),
  page_count: z.number(),
  timestamp: z.string(),
  received_ms: z.number(),
  standing,
});
const historyRow = z.union([
  positionRow.extend({ seq: z.number(), cause: z.null() }),
  z.object({
    seq: z.number(),
    tx_id: z.string(),
    gap_from: z.string(),
    cause: z.enum(['before_first', 'disconnected', 'jump', 'not_saved']),
    received_ms: z.number(),
  }),
]);

/** Takes over an opened database. Prepares each statement once. */
export function createReplicationCache(db: Sqlite, historyCap = HISTORY_CAP): ReplicationCache {
  // A cache needs no power-loss durability: what a kill leaves is whole either way, and without waiting for the disk a
  // slow one does not hold up the socket. A file that a power cut damaged is set aside when it is opened again.
  db.pragma('synchronous = OFF');
  // Waiting for another program's lock would hold up the socket as well.
  db.pragma('busy_timeout = 100');
  const putPosition = db.prepare(
    `INSERT INTO positions VALUES (@db, @tx_id, @checksum, @page_size, @page_count, @timestamp, @received_ms, @standing)
     ON CONFLICT (db) DO UPDATE SET tx_id = excluded.tx_id, checksum = excluded.checksum, page_size = excluded.page_size,
       page_count = excluded.page_count, timestamp = excluded.timestamp, received_ms = excluded.received_ms,
       standing = excluded.standing`,
  );
  const addTx = db.prepare(
    `INSERT INTO history (db, tx_id, checksum, page_size, page_count, timestamp, received_ms, standing)
     VALUES (@db, @tx_id, @checksum, @page_size, @page_count, @timestamp, @received_ms, @standing)`,
  );
  const addGap = db.prepare('INSERT INTO history (db, tx_id, gap_from, cause, received_ms) VALUES (?, ?, ?, ?, ?)');
  const newest = db.prepare<[], { seq: number | null }>('SELECT max(seq) AS seq FROM history');
  const anyUpTo = db.prepare<[number], { seq: number | null }>('SELECT min(seq) AS seq FROM history WHERE seq <= ?');
  const markTrimmed = db.prepare(
    `INSERT INTO trimmed SELECT db, max(seq), tx_id FROM history WHERE seq <= ? GROUP BY db
     ON CONFLICT (db) DO UPDATE SET seq = excluded.seq, tx_id = excluded.tx_id`,
  );
  const trim = db.prepare('DELETE FROM history WHERE seq <= ?');
  const mark = db.prepare<[string], { seq: number; tx_id: string }>('SELECT seq, tx_id FROM trimmed WHERE db = ?');
  const putFact = db.prepare('INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value');
  const getFact = db.prepare<[string], { value: string }>('SELECT value FROM facts WHERE name = ?');
  const allPositions = db.prepare('SELECT * FROM positions');
  const page = db.prepare('SELECT * FROM history WHERE db = ? AND seq > ? ORDER BY seq LIMIT ?');
  const atOrBefore = db.prepare<[string, string], { seq: number }>(
    'SELECT seq FROM history WHERE db = ? AND tx_id <= ? ORDER BY tx_id DESC, seq DESC LIMIT 1',
  );

  function change(item: CacheChange, latest: Map<string, ReplicaEntry>): void {
    switch (item.type) {
      case 'tx':
        addTx.run(toRow(item.db, item.entry));
        latest.set(item.db, item.entry);
        return;
      case 'gap':
        addGap.run(item.db, item.missed.to, item.missed.from, item.cause, item.at_ms);
        return;
      case 'position':
        latest.set(item.db, item.entry);
        return;
      case 'fact':
        putFact.run(item.name, item.value);
        return;
      case 'clear':
        db.exec('DELETE FROM positions; DELETE FROM history; DELETE FROM trimmed');
        latest.clear();
        return;
      default:
        item satisfies never;
    }
  }

  function trimTo(seq: number): void {
    if ((anyUpTo.get(seq)?.seq ?? null) === null) return;
    markTrimmed.run(seq);
    trim.run(seq);
  }

  const commit = db.transaction((changes: readonly CacheChange[]) => {
    const latest = new Map<string, ReplicaEntry>();
    for (const item of changes) change(item, latest);
    for (const [name, entry] of latest) putPosition.run(toRow(name, entry));
    trimTo((newest.get()?.seq ?? 0) - historyCap);
  });

  return {
    positions() {
      const rows = z.array(positionRow).parse(allPositions.all());
      return new Map(rows.map((row) => [row.db, toEntry(row)]));
    },
    fact: (name) => getFact.get(name)?.value,
    commit: (changes) => commit.immediate(changes),
    history(name, afterSeq, limit) {
      return z
        .array(historyRow)
        .parse(page.all(name, afterSeq, limit))
        .map(toHistory);
    },
    seqOf: (name, txID) => atOrBefore.get(name, txID)?.seq ?? 0,
    trimmed(name) {
      const row = mark.get(name);
      return row === undefined ? undefined : { seq: row.seq, txID: row.tx_id };
    },
    checkpoint: () => void db.pragma('wal_checkpoint(TRUNCATE)'),
    [Symbol.dispose]: () => void db.close(),
  };
}

function toRow(db: string, entry: ReplicaEntry): z.output<typeof positionRow> {
  const { txID, postApplyChecksum, pageSize, commit, timestamp } = entry.transaction;
  return {
    db,
    tx_id: txID,
    checksum: postApplyChecksum,
    page_size: pageSize,
    page_count: commit,
    timestamp,
    received_ms: entry.received_ms,
    standing: entry.standing,
  };
}

function toEntry(row: z.output<typeof positionRow>): ReplicaEntry {
  const transaction: Transaction = {
    txID: row.tx_id,
    postApplyChecksum: row.checksum,
    pageSize: row.page_size,
    commit: row.page_count,
    timestamp: row.timestamp,
  };
  return { transaction, standing: row.standing, received_ms: row.received_ms };
}

function toHistory(row: z.output<typeof historyRow>): HistoryRow {
  if (row.cause === null) return { type: 'tx', seq: row.seq, entry: toEntry(row) };
  const missed = { from: row.gap_from, to: row.tx_id };
  return { type: 'gap', seq: row.seq, missed, cause: row.cause, at_ms: row.received_ms };
}
