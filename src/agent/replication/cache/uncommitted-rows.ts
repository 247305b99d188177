// Counts the rows that were sent to the cache's thread and are not committed: how many, whether the oldest has waited too long,
// and when reading from the node has to pause.
import type { Clock } from '../../../core/clock.ts';

/** Reading from the node pauses at this many rows, so that a burst is written and not lost. */
const HIGH_ROWS = 8_000;
const LOW_ROWS = 4_000;
/** Further rows are dropped and become a gap, so that memory stays bounded. */
const CAP_ROWS = 50_000;
/** A disk that commits nothing for this long has stalled; reading does not wait for it. */
const STALL_MS = 1_000;

export interface UncommittedRowsOptions {
  readonly clock: Clock;
  /** Called when the oldest rows have waited too long; once, until a batch is committed. */
  readonly onStall: () => void;
}

export interface UncommittedRows extends Disposable {
  /** Adds rows. Call the returned function when they are committed or dropped. */
  enter(rows: number): () => void;
  /** Whether `more` rows would exceed the limit. */
  isFull(more: number): boolean;
  /** Resolves when reading may go on; undefined when it need not wait. */
  drained(): Promise<void> | undefined;
  /** Resolves when no row waits. */
  emptied(): Promise<void>;
  readonly isEmpty: boolean;
  /** True when the cap was exceeded since the queue was last empty. */
  readonly wasFull: boolean;
}

export function createUncommittedRows(options: UncommittedRowsOptions): UncommittedRows {
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
