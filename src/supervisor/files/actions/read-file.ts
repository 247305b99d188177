// Opens a file for reading: only a regular one, so that no device or FIFO notices.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { ReadFileRequest } from '../../../contract/files.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { FileError, named } from '../file-error.ts';
import { pin } from '../tree/pin.ts';
import type { Rights } from '../tree/rights.ts';
import { walk } from '../tree/walk.ts';

export interface OpenFile {
  readonly path: string;
  readonly handle: FileHandle;
}

/** Throws FileError. */
export async function openFile(rights: Rights, query: ReadFileRequest): Promise<OpenFile> {
  const path = toAbsolutePath(query.path, query.workingDir);
  await using place = await walk(path, { rights, followsLast: true });
  await using file = await pin(place);
  if (file.stat.isDirectory()) throw new FileError('EISDIR', path, 'is a directory');
  if (!file.stat.isFile()) throw new FileError('EINVAL', path, 'not a regular file');
  const handle = await named(path, open(file.at, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY));
  return { path, handle };
}
