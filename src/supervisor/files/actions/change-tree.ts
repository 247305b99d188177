// Does one thing to a file, or to a directory and all that is in it, each held by a descriptor while it is changed.
import { FileError } from '../file-error.ts';
import { checkDepth } from '../tree/depth.ts';
import { type Pin, pin, pinIfThere } from '../tree/pin.ts';
import { readNames } from '../tree/read-names.ts';
import { mayChange, type Rights } from '../tree/rights.ts';
import { walk } from '../tree/walk.ts';

export interface TreeChange {
  readonly rights: Rights;
  /** Absolute. A link in its last part is followed; links further down are left alone. */
  readonly path: string;
  readonly isRecursive: boolean;
  /** Whether a directory comes before its content. */
  readonly isBefore: boolean;
  readonly signal: AbortSignal;
  readonly change: (file: Pin) => Promise<void>;
}

/** Goes on past what vanishes meanwhile. Throws FileError. */
export async function changeTree(options: TreeChange): Promise<void> {
  await using place = await walk(options.path, { rights: options.rights, followsLast: true });
  await using top = await pin(place);
  const directory = await place.directory.stat();
  // It was no link a moment ago.
  if (top.stat.isSymbolicLink()) throw new FileError('ELOOP', options.path, 'it became a link meanwhile');
  checkNames(options, top, directory);
  await changeBelow(options, top, 0);
}

async function changeBelow(options: TreeChange, file: Pin, depth: number): Promise<void> {
  options.signal.throwIfAborted();
  checkDepth(depth, file.path);
  const isEntered = options.isRecursive && file.stat.isDirectory();
  if (!isEntered || options.isBefore) await options.change(file);
  if (!isEntered) return;
  for await (const name of readNames(file)) {
    await using child = await pinIfThere(file.child(name));
    if (child === undefined || child.stat.isSymbolicLink()) continue;
    checkNames(options, child, file.stat);
    await changeBelow(options, child, depth + 1);
  }
  if (!options.isBefore) await options.change(file);
}

function checkNames({ rights }: TreeChange, file: Pin, directory: Pin['stat']): void {
  if (mayChange(rights, file.stat, directory)) return;
  const what = 'the file has several names and another owner than its directory, so that root does not change it';
  throw new FileError('EPERM', file.path, what);
}
