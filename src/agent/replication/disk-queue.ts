// Rows that were given to the thread of the cache and are not committed yet: how many, whether the oldest has waited too long,
// and when to stop reading from the node for a moment.
import type { Clock } from '../../core/clock.ts';

/** From here reading waits, so that a burst is written and not lost. */
const HIGH_ROWS = 8_000;
const LOW_ROWS = 4_000;
/** Beyond this rows are let go and become a gap: memory stays bounded. */
const CAP_ROWS = 50_000;
/** A disk that commits nothing for this long has stalled, and reading does not wait for it. */
const STALL_MS = 1_000;

export interface DiskQueueOptions {
  readonly clock: Clock;
  /** The oldest rows have waited too long. Told once, until something is committed. */
  readonly onStall: () => void;
}

export interface DiskQueue extends Disposable {
  /** Returns what to call when they are committed, or are not going to be. */
  enter(rows: number): () => void;
  /** Whether so many more are too many. */
  isFull(more: number): boolean;
  /** Resolves when reading may go on; undefined when it may now. */
  drained(): Promise<void> | undefined;
  /** Resolves when nothing waits. */
  emptied(): Promise<void>;
  readonly isEmpty: boolean;
  /** It was too full since it was last empty. */
  readonly wasFull: boolean;
}

export function createDiskQueue(options: DiskQueueOptions): DiskQueue {
  let rows = 0;
  let batches = 0;
  let stalled = false;
  let wasFull = false;
  let stallTimer: NodeJS.Timeout | undefined;
  let low: PromiseWithResolvers<void> | undefined;
  let empty: PromiseWithResolvers<void> | undefined;

  function stall(): void {
    stalled = true;
    low?.resolve();
    low = undefined;
    options.onStall();
  }

  function arm(): void {
    clearTimeout(stallTimer);
    stallTimer = batches === 0 ? undefined : setTimeout(stall, STALL_MS).unref();
  }

  function leave(count: number): void {
    rows -= count;
    batches -= 1;
    stalled = false;
    arm();
    if (rows <= LOW_ROWS) {
      low?.resolve();
      low = undefined;
    }
    if (batches > 0) return;
    empty?.resolve();
    empty = undefined;
  }

  return {
    enter(count) {
      if (batches === 0) wasFull = false;
      rows += count;
      batches += 1;
      if (batches === 1) arm();
      return () => leave(count);
    },
    isFull(more) {
      wasFull ||= rows + more > CAP_ROWS;
      return rows + more > CAP_ROWS;
    },
    drained() {
      if (rows < HIGH_ROWS || stalled) return undefined;
      low ??= Promise.withResolvers();
      return low.promise;
    },
    emptied() {
      if (batches === 0) return Promise.resolve();
      empty ??= Promise.withResolvers();
      return empty.promise;
    },
    get isEmpty() {
      return batches === 0;
    },
    get wasFull() {
      return wasFull;
    },
    [Symbol.dispose]() {
      clearTimeout(stallTimer);
      low?.resolve();
    },
  };
}
