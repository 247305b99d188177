// What the two directions of a copy share.
import type { Output } from '../../command.ts';
import { toPrintable } from '../../table.ts';
import type { ProgressBar } from './progress-bar.ts';
import type { SpriteFiles } from './sprite-files.ts';

const AT_ONCE = 4;

export interface CopyJob {
  readonly files: SpriteFiles;
  readonly progress: ProgressBar;
  readonly isRecursive: boolean;
  readonly signal: AbortSignal;
  /** Says that something is not copied, and why. */
  leaveOut(path: string, why: string): void;
}

export function createCopyJob(fields: Omit<CopyJob, 'leaveOut'>, out: Output): CopyJob & { readonly leftOut: number } {
  let leftOut = 0;
  return {
    ...fields,
    leaveOut(path, why) {
      leftOut += 1;
      out.note(`left out: ${toPrintable(path)} ${why}`);
    },
    get leftOut() {
      return leftOut;
    },
  };
}

/** Runs a few of the copies at a time. The first error ends it. */
export async function copyAll(copies: Iterable<() => Promise<void>>): Promise<void> {
  const queue = Iterator.from(copies);
  let hasFailed = false;
  const work = async () => {
    for (const copy of queue) {
      if (hasFailed) return;
      try {
        await copy();
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: AT_ONCE }, work));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
