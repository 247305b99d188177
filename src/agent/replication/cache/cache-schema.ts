// The tables of replication.db. Entries are migrations: append, never edit.

export const replicationSchema: readonly string[] = [
  `CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE positions (
     db TEXT PRIMARY KEY,
     tx_id TEXT NOT NULL,
     checksum TEXT NOT NULL,
     page_size INTEGER NOT NULL,
     page_count INTEGER NOT NULL,
     timestamp TEXT NOT NULL,
     received_ms INTEGER NOT NULL,
     standing TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE trimmed (db TEXT PRIMARY KEY, seq INTEGER NOT NULL, tx_id TEXT NOT NULL) STRICT, WITHOUT ROWID;
   CREATE TABLE history (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     db TEXT NOT NULL,
     tx_id TEXT NOT NULL,
     checksum TEXT,
     page_size INTEGER,
     page_count INTEGER,
     timestamp TEXT,
     received_ms INTEGER NOT NULL,
     standing TEXT,
     gap_from TEXT,
     cause TEXT
   ) STRICT;
   CREATE INDEX history_by_db ON history (db, seq);
   CREATE INDEX history_by_tx ON history (db, tx_id, seq);`,
  // History is stored by the batch: a row with two indexes for each transaction would cost more than all other work on it. Rows of
  // the older form are dropped, and the trim mark says so.
  `CREATE TABLE segments (
     batch INTEGER NOT NULL,
     db TEXT NOT NULL,
     last_seq INTEGER NOT NULL,
     last_tx TEXT NOT NULL,
     min_tx TEXT NOT NULL,
     max_tx TEXT NOT NULL,
     rows TEXT NOT NULL,
     PRIMARY KEY (batch, db)
   ) STRICT;
   CREATE INDEX segments_by_seq ON segments (db, last_seq);
   CREATE INDEX segments_by_tx ON segments (db, max_tx, min_tx);
   INSERT INTO trimmed SELECT db, max(seq), tx_id FROM history WHERE true GROUP BY db
     ON CONFLICT (db) DO UPDATE SET seq = excluded.seq, tx_id = excluded.tx_id;
   INSERT INTO facts SELECT 'last_seq', coalesce(max(seq), 0) FROM history;
   DROP TABLE history;`,
];
