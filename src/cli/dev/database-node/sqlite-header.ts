// The first hundred bytes of a SQLite database file, as far as a database node needs them. Pure.

export const HEADER_BYTES = 100;
const MAGIC = Buffer.from('SQLite format 3\0', 'latin1');

export interface SqliteHeader {
  /** The size of a page in bytes, 512 to 65536. */
  readonly pageSize: number;
  /** Increases by one with each transaction in rollback-journal mode; the node uses it as transaction id. */
  readonly changeCounter: number;
  /** Size of the database in pages; `undefined` where the writer was too old to keep it. */
  readonly pageCount: number | undefined;
  /** The journal mode. In `wal` mode transactions reach the file and its change counter only at a checkpoint. */
  readonly journal: 'rollback' | 'wal';
}

/** `undefined` for what is not the beginning of a SQLite database, also for an empty file. */
export function parseSqliteHeader(bytes: Buffer): SqliteHeader | undefined {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const written = bytes.readUInt16BE(16);
  const changeCounter = bytes.readUInt32BE(24);
  const versionValidFor = bytes.readUInt32BE(92);
  const pageCount = bytes.readUInt32BE(28);
  return {
    pageSize: written === 1 ? 65_536 : written,
    changeCounter,
    pageCount: pageCount > 0 && versionValidFor === changeCounter ? pageCount : undefined,
    journal: bytes[18] === 2 ? 'wal' : 'rollback',
  };
}
