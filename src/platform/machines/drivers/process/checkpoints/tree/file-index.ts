// What the files of a tree were when a checkpoint had their content: a file that is the same still has the content that is kept there.
import type { BigIntStats } from 'node:fs';

/** The identity of each file by its path, each byte of the path as one character. */
export type FileIndex = ReadonlyMap<string, string>;

/** Whatever changes a file changes its `ctime`, which no program can set. */
export function toIdentity({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
}

export function serializeIndex(index: FileIndex): Buffer {
  const lines: Buffer[] = [];
  for (const [path, identity] of index) lines.push(Buffer.from(`${identity}\0${path}\0`, 'latin1'));
  return Buffer.concat(lines);
}

/** A damaged index has entries that fit nothing: files are then copied again. */
export function parseIndex(bytes: Buffer): FileIndex {
  const index = new Map<string, string>();
  let at = 0;
  const next = () => {
    const end = bytes.indexOf(0, at);
    if (end < 0) return undefined;
    const text = bytes.toString('latin1', at, end);
    at = end + 1;
    return text;
  };
  for (let identity = next(); identity !== undefined; identity = next()) {
    const path = next();
    if (path !== undefined) index.set(path, identity);
  }
  return index;
}
