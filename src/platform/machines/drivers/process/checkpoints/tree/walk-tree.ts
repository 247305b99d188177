// Visits every entry of a tree, whatever its names are and however deep it is. Links are never followed.
import { type BigIntStats, closeSync, constants, lstatSync, openSync, readdirSync } from 'node:fs';

export interface TreeEntry {
  /** Valid until the visit of the directory above is over. */
  readonly path: Buffer;
  readonly name: Buffer;
  /** The path below the root, each byte as one character. */
  readonly relative: string;
  readonly stat: BigIntStats;
}

/** `D` is what the visitor knows of a directory. */
export interface TreeVisitor<D> {
  enter(entry: TreeEntry, above: D): D;
  leave(entry: TreeEntry, here: D): void;
  /** Anything but a directory. */
  item(entry: TreeEntry, above: D): void;
  /** An entry cannot be looked at. */
  fail(error: unknown, relative: string): void;
}

/** Leaves room for a name below the longest path that the kernel takes. */
const LONG_PATH_BYTES = 2_000;
const SLASH = Buffer.from('/');
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

interface Frame<D> {
  readonly entry: TreeEntry;
  readonly here: D;
  readonly names: readonly Buffer[];
  readonly base: ShortPath;
  next: number;
}

/** A path of a directory that is short enough to add names to it. */
export interface ShortPath {
  readonly path: Buffer;
  close(): void;
}

/** A long path is replaced by that of an open descriptor. */
export function shortenPath(path: Buffer): ShortPath {
  if (path.length < LONG_PATH_BYTES) return { path, close: () => undefined };
  const descriptor = openSync(path, DIRECTORY);
  return { path: toDescriptorPath(descriptor), close: () => closeSync(descriptor) };
}

/** Other processes can use it too. */
export function toDescriptorPath(descriptor: number): Buffer {
  return Buffer.from(`/proc/${process.pid}/fd/${descriptor}`);
}

export function joinName(path: Buffer, name: Buffer): Buffer {
  return Buffer.concat([path, SLASH, name]);
}

/** The root itself is entered and left. Throws when it is no directory. */
export function walkTree<D>(root: Buffer, top: D, visitor: TreeVisitor<D>): void {
  const frames: Frame<D>[] = [];
  const open = (entry: TreeEntry, above: D): void => {
    const base = shortenPath(entry.path);
    let isOpen = false;
    try {
      const names = readdirSync(base.path, { encoding: 'buffer' });
      frames.push({ entry, here: visitor.enter(entry, above), names, base, next: 0 });
      isOpen = true;
    } finally {
      if (!isOpen) base.close();
    }
  };
  const visit = (frame: Frame<D>, name: Buffer): void => {
    const above = frame.entry.relative;
    const text = name.toString('latin1');
    const relative = above === '' ? text : `${above}/${text}`;
    try {
      const path = joinName(frame.base.path, name);
      const entry = { path, name, relative, stat: lstatSync(path, { bigint: true }) };
      if (entry.stat.isDirectory()) open(entry, frame.here);
      else visitor.item(entry, frame.here);
    } catch (error) {
      visitor.fail(error, relative);
    }
  };
  open({ path: root, name: Buffer.alloc(0), relative: '', stat: lstatSync(root, { bigint: true }) }, top);
  for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
    const name = frame.names[frame.next];
    frame.next += 1;
    if (name !== undefined) {
      visit(frame, name);
      continue;
    }
    frames.pop();
    try {
      visitor.leave(frame.entry, frame.here);
    } finally {
      frame.base.close();
    }
  }
}
