// How deep a tree may be: each level holds two descriptors.
import { FileError } from '../file-error.ts';

const DEPTH_MAX = 1_000;

/** Throws FileError. */
export function checkDepth(depth: number, path: string): void {
  if (depth <= DEPTH_MAX) return;
  throw new FileError('ENAMETOOLONG', path, `there are more than ${DEPTH_MAX} directories in one another`);
}
