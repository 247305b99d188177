// How much room the copy of a tree needs at the most, before anything is written.
import { type BigIntStats, statfsSync } from 'node:fs';
import type { CopyTreeOptions } from './copy-tree.ts';
import { toIdentity } from './file-index.ts';
import { type TreeEntry, walkTree } from './walk-tree.ts';

const BLOCK_BYTES = 512n;
/** What a directory, a link or the end of a file takes. */
const ENTRY_BYTES = 4_096n;

/** Throws an error with the code `ENOSPC` when the file system of `dir` has less room than the copy may need. */
export function checkRoom(options: Pick<CopyTreeOptions, 'source' | 'base'>, dir: string): void {
  const need = measureTree(options);
  const { bavail, bsize } = statfsSync(dir, { bigint: true });
  if (need <= bavail * bsize) return;
  const message = `the copy may need ${toMegabytes(need)} MB, and ${toMegabytes(bavail * bsize)} MB are free`;
  throw Object.assign(new Error(message), { code: 'ENOSPC' });
}

function measureTree({ source, base }: Pick<CopyTreeOptions, 'source' | 'base'>): bigint {
  const known = new Set<string>();
  let bytes = 0n;
  const add = ({ relative, stat }: TreeEntry): void => {
    if (base?.index.get(relative) === toIdentity(stat) || isKnown(known, stat)) return;
    bytes += stat.blocks * BLOCK_BYTES + ENTRY_BYTES;
  };
  walkTree(Buffer.from(source), undefined, {
    enter: (entry) => add(entry),
    leave: () => undefined,
    item: add,
    // The copy meets it too, and says which entry it is.
    fail: () => undefined,
  });
  return bytes;
}

/** Another name of a file that is counted already. */
function isKnown(known: Set<string>, { dev, ino, nlink }: BigIntStats): boolean {
  if (nlink < 2n) return false;
  const key = `${dev} ${ino}`;
  if (known.has(key)) return true;
  known.add(key);
  return false;
}

function toMegabytes(bytes: bigint): string {
  return (Number(bytes) / 1e6).toFixed(1);
}
