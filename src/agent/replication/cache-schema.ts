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
];
