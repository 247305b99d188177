// One entry of a list, from what the system says of it.
import { isUtf8 } from 'node:buffer';
import type { Stats } from 'node:fs';
import type { FileEntry } from '../../contract/files.ts';

/** The permission bits as four octal digits. */
export function toModeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}

/** `below`: the name, or in a recursive list the path below the directory that is listed. */
export function toFileEntry(below: Buffer, path: string, stat: Stats): FileEntry {
  return {
    name: below.toString(),
    path,
    type: toType(stat),
    size: stat.size,
    mode: toModeText(stat.mode),
    modTime: toTime(stat.mtimeMs),
    isDir: stat.isDirectory(),
    ...(isUtf8(below) ? {} : { unusable: true as const }),
  };
}

function toType(stat: Stats): string {
  if (stat.isFile()) return 'file';
  if (stat.isDirectory()) return 'directory';
  if (stat.isSymbolicLink()) return 'symlink';
  if (stat.isFIFO()) return 'fifo';
  if (stat.isSocket()) return 'socket';
  return stat.isCharacterDevice() ? 'character_device' : 'block_device';
}

/** A file system may hold times that no date has. */
function toTime(time_ms: number): string {
  const date = new Date(time_ms);
  const year = date.getUTCFullYear();
  return year >= 0 && year <= 9_999 ? date.toISOString() : new Date(0).toISOString();
}
