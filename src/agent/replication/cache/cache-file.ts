// replication.db: positions, a bounded history with its gaps, and which node and cluster they came from. A batch is one
// transaction, so that after a kill the positions are those of the last batch, with their gap rows.
import type { Sqlite } from '../../../sqlite/open.ts';
import type { ReplicaEntry } from '../replica.ts';
import type { CacheBatch } from './cache-batch.ts';
import type { FactName } from './cache-change.ts';
import type { HistoryAnswer, HistoryStart, StreamAnswer } from './cache-request.ts';
import { toRowSeq, toRowTx } from './history-text.ts';

const BUSY_MS = 100;
/** How many batches are read at once for a stream of all databases. */
const STREAM_BATCHES = 64;

export interface CacheFile extends Disposable {
  positions(): Map<string, ReplicaEntry>;
  facts(): Map<FactName, string>;
  last_seq(): number;
  /** Writes all of the batch or nothing; about `keep` rows of history stay. All methods throw what SQLite throws. */
  commit(batch: CacheBatch, keep: number): void;
  history(db: string, start: HistoryStart, limit: number): HistoryAnswer;
  stream(after: number, limit: number): StreamAnswer;
}

interface PositionRow {
  readonly db: string;
  readonly tx_id: string;
  readonly checksum: string;
  readonly page_size: number;
  readonly page_count: number;
  readonly timestamp: string;
  readonly received_ms: number;
  readonly standing: ReplicaEntry['standing'];
}

/** Takes an open database and prepares each statement once. */
export function createCacheFile(db: Sqlite): CacheFile {
  // A cache need not survive a power failure, and a kill of the process leaves a whole file in this mode too. A file that a power
  // failure damaged is set aside when it is opened again.
  db.pragma('synchronous = OFF');
  db.pragma(`busy_timeout = ${BUSY_MS}`);
  const writePosition = db.prepare(
    `INSERT INTO positions VALUES (@db, @tx_id, @checksum, @page_size, @page_count, @timestamp, @received_ms, @standing)
     ON CONFLICT (db) DO UPDATE SET tx_id = excluded.tx_id, checksum = excluded.checksum, page_size = excluded.page_size,
       page_count = excluded.page_count, timestamp = excluded.timestamp, received_ms = excluded.received_ms,
       standing = excluded.standing`,
  );
  const allPositions = db.prepare<[], PositionRow>('SELECT * FROM positions');
  const addSegment = db.prepare(
    'INSERT INTO segments VALUES (@batch, @db, @last_seq, @last_tx, @min_tx, @max_tx, @rows)',
  );
  /** A batch is deleted when all of its rows may go: its number is that of its last row. */
  const markTrimmed = db.prepare(
    `INSERT INTO trimmed SELECT db, max(last_seq), last_tx FROM segments WHERE batch <= ? GROUP BY db
     ON CONFLICT (db) DO UPDATE SET seq = excluded.seq, tx_id = excluded.tx_id`,
  );
  const trim = db.prepare('DELETE FROM segments WHERE batch <= ?');
  const oldestBatch = db.prepare<[], { batch: number | null }>('SELECT min(batch) AS batch FROM segments');
  const firstRows = db.prepare<[number], { rows: string }>('SELECT rows FROM segments WHERE batch = ?');
  const mark = db.prepare<[string], { seq: number; txID: string }>(
    'SELECT seq, tx_id AS txID FROM trimmed WHERE db = ?',
  );
  const writeFact = db.prepare(
    'INSERT INTO facts VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  );
  const allFacts = db.prepare<[], { name: string; value: string }>('SELECT name, value FROM facts');
  const after = db.prepare<[string, number], { rows: string }>(
    'SELECT rows FROM segments WHERE db = ? AND last_seq > ? ORDER BY last_seq',
  );
  const behind = db.prepare<[string, string], { rows: string }>(
    'SELECT rows FROM segments WHERE db = ? AND max_tx <= ? ORDER BY max_tx DESC, last_seq DESC LIMIT 1',
  );
  const around = db.prepare<[string, string, string], { rows: string }>(
    'SELECT rows FROM segments WHERE db = ? AND max_tx > ? AND min_tx <= ?',
  );
  const batches = db.prepare<[number, number], { batch: number }>(
    'SELECT DISTINCT batch FROM segments WHERE batch > ? ORDER BY batch LIMIT ?',
  );
  const ofBatch = db.prepare<[number], { db: string; rows: string }>('SELECT db, rows FROM segments WHERE batch = ?');

  const commit = db.transaction((batch: CacheBatch, keep: number) => {
    if (batch.clear) db.exec('DELETE FROM positions; DELETE FROM segments; DELETE FROM trimmed');
    for (const [name, value] of batch.facts) writeFact.run(name, value);
    for (const segment of batch.segments) addSegment.run({ ...segment, batch: batch.last_seq });
    for (const [name, entry] of batch.positions) writePosition.run(toRow(name, entry));
    if (batch.rows === 0) return;
    writeFact.run('last_seq', String(batch.last_seq));
    const oldest = oldestBatch.get()?.batch ?? null;
    const until = batch.last_seq - keep;
    if (oldest === null || oldest > until) return;
    markTrimmed.run(until);
    trim.run(until);
  });

  /** The number of the row that holds the transaction, else of the newest row before it; 0 when there is none. */
  function seqOf(name: string, txID: string): number {
    let best = { seq: 0, tx: '' };
    for (const { rows } of [...behind.all(name, txID), ...around.all(name, txID, txID)]) {
      for (const row of rows.split('\n')) {
        const tx = toRowTx(row);
        if (tx <= txID && tx >= best.tx) best = later(best, { seq: toRowSeq(row), tx });
      }
    }
    return best.seq;
  }

  return {
    positions: () => new Map(allPositions.all().map((row) => [row.db, toEntry(row)])),
    facts() {
      const facts = new Map<FactName, string>();
      for (const { name, value } of allFacts.all())
        if (name === 'node_id' || name === 'cluster_id') facts.set(name, value);
      return facts;
    },
    last_seq: () => Number(allFacts.all().find(({ name }) => name === 'last_seq')?.value ?? 0),
    commit: (batch, keep) => void commit.immediate(batch, keep),
    history(name, from, limit) {
      const start = from.type === 'seq' ? from.seq : seqOf(name, from.txID);
      const found: string[] = [];
      for (const { rows } of after.iterate(name, start)) {
        for (const row of rows.split('\n')) if (toRowSeq(row) > start) found.push(row);
        if (found.length >= limit) break;
      }
      return { type: 'history', rows: found.slice(0, limit), start, trimmed: mark.get(name) };
    },
    stream(from, limit) {
      const found: { db: string; row: string }[] = [];
      for (const { batch } of batches.all(from, STREAM_BATCHES)) {
        const rows = ofBatch.all(batch).flatMap((part) => part.rows.split('\n').map((row) => ({ db: part.db, row })));
        rows.sort((a, b) => toRowSeq(a.row) - toRowSeq(b.row));
        for (const row of rows) if (toRowSeq(row.row) > from) found.push(row);
        if (found.length >= limit) break;
      }
      const first = oldestBatch.get()?.batch ?? 0;
      const seqs = firstRows.all(first).map(({ rows }) => toRowSeq(rows));
      return { type: 'stream', rows: found.slice(0, limit), oldest: seqs.length === 0 ? 0 : Math.min(...seqs) };
    },
    [Symbol.dispose]: () => void db.close(),
  };
}

function later<T extends { readonly seq: number; readonly tx: string }>(a: T, b: T): T {
  if (a.tx !== b.tx) return a.tx > b.tx ? a : b;
  return a.seq > b.seq ? a : b;
}

function toRow(db: string, entry: ReplicaEntry): PositionRow {
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

function toEntry(row: PositionRow): ReplicaEntry {
  const { tx_id, checksum, page_size, page_count, timestamp, standing, received_ms } = row;
  const transaction = { txID: tx_id, postApplyChecksum: checksum, pageSize: page_size, commit: page_count, timestamp };
  return { transaction, standing, received_ms };
}
