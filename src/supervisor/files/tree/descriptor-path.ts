// Names that lead through a descriptor of this process: what they name stays the same, whatever becomes of the path.
import type { FileHandle } from 'node:fs/promises';

/** Opens neither for reading nor for writing: the descriptor only holds on to what is there (open(2)). Node has no constant for it. */
export const O_PATH = 0x20_0000;

/** What the descriptor holds. */
export function descriptorPath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** `name` in the directory that the descriptor holds. Names are bytes: not all of them are UTF-8. */
export function pathBelow(directory: FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory.fd}/`), name]);
}
