// A short path to a directory: the path of a Unix socket has at most 107 bytes, and that of a machine's directory may have more.
import { closeSync, constants, openSync } from 'node:fs';

export interface ShortPath extends Disposable {
  readonly path: string;
}

/** The path leads there until it is disposed of. Throws the error of the kernel. */
export function openShortPath(dir: string): ShortPath {
  const descriptor = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  return { path: `/proc/self/fd/${descriptor}`, [Symbol.dispose]: () => closeSync(descriptor) };
}
