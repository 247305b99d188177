// Copies a tree. A file that has not changed since another copy was made becomes a link to the file there, because copies are never
// written to. Pipes are made again; sockets and devices are left out.
import { spawnSync } from 'node:child_process';
import {
  type BigIntStats,
  chmodSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
} from 'node:fs';
import { errorCode } from '../../../../../../core/error-code.ts';
import { copyFile, toSeconds } from './copy-file.ts';
import { type FileIndex, toIdentity } from './file-index.ts';
import { joinName, type ShortPath, shortenPath, type TreeEntry, type TreeVisitor, walkTree } from './walk-tree.ts';

export interface CopyTreeOptions {
  readonly source: string;
  /** It does not exist yet. */
  readonly target: string;
  /** An earlier copy, and what the files of the source were then. */
  readonly base?: { readonly tree: string; readonly index: FileIndex } | undefined;
  /** Programs write to the source meanwhile: entries that vanish are left out. */
  readonly isLive: boolean;
  /** Whose files the new index describes. */
  readonly indexOf: 'source' | 'target';
  /** Wall clock. A file that has changed since may change again without a new `ctime`, and has no entry in the index. */
  readonly settledBefore_ms: number;
  /** Runs after each entry. */
  readonly onStep: (done: CopyCounts) => void;
}

export interface CopyCounts {
  readonly files: number;
  readonly copied_bytes: number;
  readonly left_out: number;
}

export interface CopiedTree extends CopyCounts {
  readonly index: FileIndex;
}

/** A directory of the copy. */
interface Target {
  readonly at: ShortPath;
  readonly pipes: TreeEntry[];
}

const VANISHED: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'];
const PERMISSIONS = 0o7777;
const ROOT = 0;

/** Throws the error of the kernel, with `relative`, the path below the source. The target may then be there in part. */
export function copyTree(options: CopyTreeOptions): CopiedTree {
  const copy = new TreeCopy(options);
  const root: Target = { at: { path: Buffer.from(options.target), close: () => undefined }, pipes: [] };
  walkTree(Buffer.from(options.source), root, copy);
  return { ...copy.counts, index: copy.index };
}

class TreeCopy implements TreeVisitor<Target> {
  readonly #options: CopyTreeOptions;
  readonly #settled_ns: bigint;
  /** The first copy of each file that has several names. Paths of descriptors are not kept: the number may come to mean another directory. */
  readonly #named = new Map<string, Buffer>();
  readonly index = new Map<string, string>();
  readonly counts = { files: 0, copied_bytes: 0, left_out: 0 };

  constructor(options: CopyTreeOptions) {
    this.#options = options;
    this.#settled_ns = BigInt(Math.floor(options.settledBefore_ms)) * 1_000_000n;
  }

  enter({ name, relative }: TreeEntry, above: Target): Target {
    const path = relative === '' ? above.at.path : joinName(above.at.path, name);
    mkdirSync(path, { mode: 0o700 });
    return { at: shortenPath(path), pipes: [] };
  }

  leave({ relative, stat }: TreeEntry, { at, pipes }: Target): void {
    try {
      makePipes(at.path, pipes);
      own(at.path, stat);
      chmodSync(at.path, Number(stat.mode) & PERMISSIONS);
      utimesSync(at.path, toSeconds(stat.atimeNs), toSeconds(stat.mtimeNs));
    } catch (error) {
      throw toTreeError(error, relative);
    } finally {
      at.close();
    }
  }

  item(entry: TreeEntry, above: Target): void {
    const { stat, name } = entry;
    if (stat.isFile()) this.#file(entry, joinName(above.at.path, name));
    else if (stat.isSymbolicLink()) copyLink(entry, joinName(above.at.path, name));
    else if (stat.isFIFO()) above.pipes.push(entry);
    else this.counts.left_out += 1;
    this.counts.files += 1;
    this.#options.onStep(this.counts);
  }

  fail(error: unknown, relative: string): void {
    if (this.#options.isLive && VANISHED.includes(errorCode(error))) return;
    throw toTreeError(error, relative);
  }

  #file({ path, relative, stat }: TreeEntry, target: Buffer): void {
    const { base, indexOf } = this.#options;
    const identity = toIdentity(stat);
    if (base?.index.get(relative) === identity && link(Buffer.from(`${base.tree}/${relative}`, 'latin1'), target)) {
      this.index.set(relative, identity);
      return;
    }
    const first = stat.nlink > 1n ? this.#named.get(`${stat.dev} ${stat.ino}`) : undefined;
    if (first !== undefined && link(first, target)) {
      this.#note(relative, stat);
      return;
    }
    const copied = copyFile(path, target);
    if (copied === undefined) return;
    this.counts.copied_bytes += Number(copied.source.size);
    if (stat.nlink > 1n && target.indexOf(this.#options.target) === 0)
      this.#named.set(`${stat.dev} ${stat.ino}`, target);
    this.#note(relative, indexOf === 'source' ? copied.source : copied.target);
  }

  #note(relative: string, stat: BigIntStats): void {
    if (this.#options.indexOf === 'target' || stat.ctimeNs < this.#settled_ns)
      this.index.set(relative, toIdentity(stat));
  }
}

/** False when there is no such file, or its path is too long, or it has too many names. */
function link(existing: Buffer, target: Buffer): boolean {
  try {
    linkSync(existing, target);
    return true;
  } catch (error) {
    if (['ENOSPC', 'EDQUOT'].includes(errorCode(error) ?? '')) throw error;
    return false;
  }
}

function copyLink({ path, stat }: TreeEntry, target: Buffer): void {
  symlinkSync(readlinkSync(path, { encoding: 'buffer' }), target);
  own(target, stat);
  lutimesSync(target, toSeconds(stat.atimeNs), toSeconds(stat.mtimeNs));
}

function makePipes(directory: Buffer, entries: readonly TreeEntry[]): void {
  if (entries.length === 0) return;
  const paths = entries.map(({ name }) => joinName(directory, name));
  const input = Buffer.concat(paths.flatMap((path) => [path, Buffer.of(0)]));
  const { status, stderr } = spawnSync('xargs', ['-0', 'mkfifo', '--'], {
    input,
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (status !== 0) {
    const code = String(stderr).includes('No space left') ? 'ENOSPC' : 'EIO';
    throw Object.assign(new Error(`${code}: pipes cannot be made: ${stderr}`), { code });
  }
  for (const [index, path] of paths.entries()) {
    const { stat } = entries[index] as TreeEntry;
    own(path, stat);
    chmodSync(path, Number(stat.mode) & PERMISSIONS);
    utimesSync(path, toSeconds(stat.atimeNs), toSeconds(stat.mtimeNs));
  }
}

function own(path: Buffer, { uid, gid }: BigIntStats): void {
  if (process.geteuid?.() === ROOT) lchownSync(path, Number(uid), Number(gid));
}

function toTreeError(error: unknown, relative: string): unknown {
  if (!(error instanceof Error) || 'relative' in error) return error;
  return Object.assign(error, { relative });
}
