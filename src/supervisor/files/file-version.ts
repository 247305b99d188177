// Which version of a file a caller has, and what follows for the answer (RFC 9110, sections 8.8 and 13). Pure.
import type { BigIntStats } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';

export interface FileVersion {
  /** Changes with every write: a write makes a new file, and an append another size. */
  readonly etag: string;
  /** The time of the last change, in whole seconds. */
  readonly modified_ms: number;
}

const SECOND_MS = 1_000n;

export function toFileVersion({ ino, size, mtimeNs, mtimeMs }: BigIntStats): FileVersion {
  const etag = `"${ino.toString(36)}-${size.toString(36)}-${mtimeNs.toString(36)}"`;
  return { etag, modified_ms: Number((mtimeMs / SECOND_MS) * SECOND_MS) };
}

/** The caller has this version already. */
export function isKnown({ etag, modified_ms }: FileVersion, headers: IncomingHttpHeaders): boolean {
  const known = headers['if-none-match'];
  if (known !== undefined) {
    const tags = known.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
    return tags.includes('*') || tags.includes(etag);
  }
  return modified_ms <= toTime(headers['if-modified-since']);
}

/** The range that the caller asks for belongs to this version; so it is when the caller does not say. */
export function isSame({ etag, modified_ms }: FileVersion, condition: string | undefined): boolean {
  if (condition === undefined) return true;
  return condition.includes('"') ? condition.trim() === etag : toTime(condition) === modified_ms;
}

/** NaN, which equals and exceeds nothing, for what is no date. */
function toTime(date: string | undefined): number {
  return date === undefined ? Number.NaN : Date.parse(date);
}
