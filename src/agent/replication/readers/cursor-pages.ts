// Reads the cache in pages of lines for readers with a cursor: one page at a time, and some lines of it in each turn of the loop, so
// that a hundred readers that come at once neither hold up the process nor fill its memory.
import { createKeyedMutex } from '../../../core/keyed-mutex.ts';
import { mapInTurns } from '../../../core/map-in-turns.ts';
import type { CacheWriter } from '../cache/cache-writer.ts';
import { toCursorLine, toTrimmedLine } from './cursor-lines.ts';

const PAGE_ROWS = 1_000;
/** The cost of writing a line: about two microseconds, which `Turns` counts as 64. */
const LINE_COST = 64;

export interface CursorPage {
  readonly lines: readonly string[];
  /** The number of the last row. */
  readonly last: number;
}

export interface CursorPages {
  /** What is stored after row `at`, up to row `until`; undefined when the cache cannot be read. */
  read(at: number, until: number): Promise<CursorPage | undefined>;
}

export function createCursorPages(cache: Pick<CacheWriter, 'stream'>): CursorPages {
  const mutex = createKeyedMutex();

  async function readPage(at: number, until: number): Promise<CursorPage | undefined> {
    const page = await cache.stream(at, PAGE_ROWS);
    if (page === undefined) return undefined;
    const oldest = page.oldest === 0 ? until + 1 : page.oldest;
    const rows = page.rows.filter(({ row }) => row.seq <= until);
    const trimmed = at < oldest - 1 ? [toTrimmedLine(oldest - 1)] : [];
    const kept = await mapInTurns(
      rows,
      () => LINE_COST,
      ({ db, row }) => toCursorLine(db, row),
    );
    return { lines: [...trimmed, ...kept], last: rows.length < PAGE_ROWS ? until : (rows.at(-1)?.row.seq ?? until) };
  }

  return { read: (at, until) => mutex.run('page', () => readPage(at, until)) };
}
