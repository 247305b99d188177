// Copies a file to a new name, or a directory with all that is in it; a directory that is there already takes what is copied into it.
import { type FileHandle, open } from 'node:fs/promises';
import type { CopyRequest, CopyResponse } from '../../../contract/files.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { FileError } from '../file-error.ts';
import { descriptorPath, O_PATH } from '../tree/descriptor-path.ts';
import { type Pin, pin } from '../tree/pin.ts';
import type { Rights } from '../tree/rights.ts';
import { walk } from '../tree/walk.ts';
import { TreeCopy } from './copy-tree.ts';

/** Throws FileError. */
export async function copyFiles(rights: Rights, body: CopyRequest, signal: AbortSignal): Promise<CopyResponse> {
  const path = toAbsolutePath(body.source, body.workingDir);
  await using source = await walk(path, { rights, followsLast: true });
  await using dest = await walk(toAbsolutePath(body.dest, body.workingDir), { rights, followsLast: true });
  await using from = await pin(source);
  const isTree = from.stat.isDirectory();
  if (isTree && !body.recursive) throw new FileError('EISDIR', path, 'is a directory; set recursive to copy it');
  if (!isTree && !from.stat.isFile()) throw new FileError('EINVAL', path, 'not a regular file');
  if (isTree && (await isBelow(dest.directory, from))) {
    throw new FileError('EINVAL', path, 'a directory cannot be copied into itself');
  }
  const copy = new TreeCopy({ rights, keepsAttributes: body.preserveAttrs, isDurable: !isTree, signal });
  await copy.copy(source, dest);
  const { copied, skipped } = copy;
  const rest = skipped.count === 0 ? {} : { skipped: skipped.items };
  return { copied: copied.items, count: copied.count, totalBytes: copy.total_bytes, ...rest };
}

/** Whether `directory` is `top` or lies in it, by the links of the system to the directory above. */
async function isBelow(directory: FileHandle, top: Pin): Promise<boolean> {
  await using stack = new AsyncDisposableStack();
  let here = directory;
  for (;;) {
    const { dev, ino } = await here.stat();
    if (dev === top.stat.dev && ino === top.stat.ino) return true;
    const above = stack.use(await open(`${descriptorPath(here)}/..`, O_PATH));
    const next = await above.stat();
    if (next.dev === dev && next.ino === ino) return false;
    here = above;
  }
}
