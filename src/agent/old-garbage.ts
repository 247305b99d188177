// Collects the garbage among old objects while the process has nothing to do, and moves what lives together. V8 waits with the first until
// the heap has grown to twice what lives in it, which after work that is over it may never do, and leaves pages that are half empty.
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A process that took less of the time since the last look has nothing to do: the 20 to 45 ms of a collection hold up nobody. */
const IDLE_SHARE = 0.02;
/** Pages of old objects that take so much more than after the last collection are worth another one. */
const WORTH_BYTES = 3 * 1024 * 1024;
/** V8 collects the others by itself, all the time. */
const YOUNG_SPACES = ['new_space', 'new_large_object_space'];

export interface OldGarbage {
  /** Collects where that is worth it and holds up nobody. True when it did. To be called every few seconds or more seldom. */
  look(): boolean;
}

export function createOldGarbage(): OldGarbage {
  let before = readTime();
  /** What their pages took at least, or after the last collection. Nothing at first: a start leaves garbage, too. */
  let least_bytes = 0;
  let collect: (() => void) | undefined;
  return {
    look() {
      const now = readTime();
      const isIdle = now.cpu_ms - before.cpu_ms < (now.clock_ms - before.clock_ms) * IDLE_SHARE;
      before = now;
      const bytes = readOldBytes();
      if (bytes < least_bytes) least_bytes = bytes;
      if (!isIdle || bytes - least_bytes < WORTH_BYTES) return false;
      collect ??= openCollection();
      collect();
      least_bytes = readOldBytes();
      return true;
    },
  };
}

function readTime(): { readonly clock_ms: number; readonly cpu_ms: number } {
  const { user, system } = process.cpuUsage();
  return { clock_ms: performance.now(), cpu_ms: (user + system) / 1_000 };
}

function readOldBytes(): number {
  const old = getHeapSpaceStatistics().filter(({ space_name }) => !YOUNG_SPACES.includes(space_name));
  return old.reduce((sum, { physical_space_size }) => sum + physical_space_size, 0);
}

/** V8 gives the function to contexts that are made while its flag is set, and to no other. Its own collections go on as they do. */
function openCollection(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return () => {
    setFlagsFromString('--compact-on-every-full-gc');
    collect();
    setFlagsFromString('--no-compact-on-every-full-gc');
  };
}
