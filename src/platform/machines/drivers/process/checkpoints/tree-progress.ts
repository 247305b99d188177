// How far a copy of files has come, as a line for people.
import type { TreeCounts } from './tree/tree-message.ts';

export function toTreeProgress(onProgress: (line: string) => void): (counts: TreeCounts) => void {
  return ({ files, copied_bytes }) => onProgress(`${files} files, ${(copied_bytes / 1e6).toFixed(1)} MB copied`);
}
