// Writes a file from the body of a request: in one step, or at the end of what is there.
import { constants } from 'node:fs';
import { access, type FileHandle, open } from 'node:fs/promises';
import type { WriteFileRequest, WriteResponse } from '../../../contract/files.ts';
import { freeBytes } from '../../../core/free-bytes.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { toModeText } from '../file-entry.ts';
import { FileError, named } from '../file-error.ts';
import { type Pin, pinIfThere } from '../tree/pin.ts';
import { mayChange, type Rights } from '../tree/rights.ts';
import { type Place, walk } from '../tree/walk.ts';
import { AheadSync } from './ahead-sync.ts';
import { openReplacement } from './replacement.ts';

const NEW_FILE_MODE = 0o644;
const PERMISSIONS = 0o777;
/** Pieces of the body are small, and each write takes a turn of a thread. */
const WRITE_BYTES = 512 * 1024;
/** The system takes so many pieces at once, or more. */
const PIECES_MAX = 1024;

/** `content` is not read before the file can be written. Throws FileError, or what it throws; the file is then as it was before. */
export async function writeFile(
  rights: Rights,
  query: WriteFileRequest,
  content: AsyncIterable<Buffer>,
): Promise<WriteResponse> {
  const path = toAbsolutePath(query.path, query.workingDir);
  await using place = await walk(path, { rights, followsLast: true, makesParents: query.mkdirParents });
  if (place.isRoot) throw isDirectory(path);
  await using old = await pinIfThere(place);
  if (old !== undefined) await checkWritable(rights, place, old);
  const mode = query.mode === undefined ? undefined : Number.parseInt(query.mode, 8);
  return old !== undefined && query.append
    ? await append(old, mode, content)
    : await replace(place, old, mode ?? (old === undefined ? NEW_FILE_MODE : old.stat.mode & PERMISSIONS), content);
}

async function replace(
  place: Place,
  old: Pin | undefined,
  mode: number,
  content: AsyncIterable<Buffer>,
): Promise<WriteResponse> {
  await using replacement = await openReplacement(place);
  const size = await writeAll(replacement.handle, content, place.path);
  await replacement.finish({ mode, owner: old?.stat, isDurable: true });
  return { path: place.path, size, mode: toModeText(mode) };
}

async function append(old: Pin, mode: number | undefined, content: AsyncIterable<Buffer>): Promise<WriteResponse> {
  const { path } = old;
  await using handle = await named(path, open(old.at, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK));
  const before = await handle.stat();
  try {
    await writeAll(handle, content, path);
    if (mode !== undefined) await named(path, handle.chmod(mode));
    await named(path, handle.sync());
  } catch (error) {
    await handle.truncate(before.size);
    throw error;
  }
  const after = await handle.stat();
  return { path, size: after.size, mode: toModeText(after.mode) };
}

/** The number of bytes. */
async function writeAll(handle: FileHandle, content: AsyncIterable<Buffer>, path: string): Promise<number> {
  let waiting: Buffer[] = [];
  let waiting_bytes = 0;
  let size = 0;
  const disk = new AheadSync(handle);
  const flush = async () => {
    const pieces = waiting;
    const bytes = waiting_bytes;
    waiting = [];
    waiting_bytes = 0;
    await writeWhole(handle, pieces, path);
    disk.onWritten(bytes);
  };
  try {
    for await (const piece of content) {
      size += piece.length;
      waiting.push(piece);
      waiting_bytes += piece.length;
      if (waiting_bytes >= WRITE_BYTES || waiting.length >= PIECES_MAX) await flush();
    }
    await flush();
  } finally {
    await disk.rest();
  }
  await named(path, disk.check());
  return size;
}

/** The pieces are gone then. */
async function writeWhole(handle: FileHandle, pieces: readonly Buffer[], path: string): Promise<void> {
  let left = pieces;
  while (left.length > 0) {
    const { bytesWritten } = await named(path, handle.writev(left));
    left = dropFirst(left, bytesWritten);
  }
  for (const piece of pieces) freeBytes(piece);
}

/** The pieces without as many bytes at their start, and without pieces that are empty. */
function dropFirst(pieces: readonly Buffer[], bytes: number): Buffer[] {
  let left = bytes;
  return pieces.flatMap((piece) => {
    const rest = piece.subarray(left);
    left = Math.max(0, left - piece.length);
    return rest.length > 0 ? [rest] : [];
  });
}

/** A file that takes another one's place need not be writable for the system: the caller finds that surprising. */
async function checkWritable(rights: Rights, place: Place, old: Pin): Promise<void> {
  if (old.stat.isDirectory()) throw isDirectory(place.path);
  if (!old.stat.isFile()) throw new FileError('EINVAL', place.path, 'not a regular file');
  await named(place.path, access(old.at, constants.W_OK));
  if (mayChange(rights, old.stat, await place.directory.stat())) return;
  throw new FileError('EPERM', place.path, 'the file has several names and another owner than its directory');
}

function isDirectory(path: string): FileError {
  return new FileError('EISDIR', path, 'is a directory');
}
