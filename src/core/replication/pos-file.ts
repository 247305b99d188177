// The files of a mounted node directory, as LiteFS writes them: `<db>-pos` with a position, `.primary` with a host name.
import { POSITION_SUFFIX } from '../../contract/replication.ts';

const POSITION = /^([0-9a-f]{16})\/([0-9a-f]{16})\n?$/;
const NAME_BYTES_MAX = 255;
const encoder = new TextEncoder();

export interface FilePosition {
  readonly txID: string;
  readonly postApplyChecksum: string;
}

export function parsePosFile(text: string): FilePosition | undefined {
  const [, txID, postApplyChecksum] = POSITION.exec(text) ?? [];
  return txID === undefined || postApplyChecksum === undefined ? undefined : { txID, postApplyChecksum };
}

export function toPosText({ postApplyChecksum, txID }: FilePosition): string {
  return `${txID}/${postApplyChecksum}\n`;
}

/** The database of a position file; undefined for any other file. */
export function toDatabaseName(file: string): string | undefined {
  return file.length > POSITION_SUFFIX.length && file.endsWith(POSITION_SUFFIX)
    ? file.slice(0, -POSITION_SUFFIX.length)
    : undefined;
}

/** The position file of a database; undefined for a name that no file of that directory can have. */
export function toPosName(db: string): string | undefined {
  const name = db + POSITION_SUFFIX;
  return db === '' || /[/\0]/.test(db) || encoder.encode(name).length > NAME_BYTES_MAX ? undefined : name;
}

/**
 * Page size in bytes and number of pages, from the first 100 bytes of a database file; undefined for bytes that are no such
 * header.
 */
export function parseDatabaseHeader(bytes: Buffer): { readonly pageSize: number; readonly commit: number } | undefined {
  if (bytes.length < 100 || bytes.toString('latin1', 0, 15) !== 'SQLite format 3') return undefined;
  const written = bytes.readUInt16BE(16);
  return { pageSize: written === 1 ? 65_536 : written, commit: bytes.readUInt32BE(28) };
}
