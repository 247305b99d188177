// Reads the items that a provider answers with into lines of the ledger. Pure, apart from the turns that a long answer takes.
import { type CostItem, costItem } from '../../../contract/extension-costs.ts';
import { parseBoundedJson } from '../../../core/bounded-json.ts';
import { mapInTurns } from '../../../core/map-in-turns.ts';
import { nextSlice } from '../../../core/next-slice.ts';

/** Unix milliseconds for `from` and `to`. */
export interface CostLine extends Pick<CostItem, 'extension_id' | 'amount' | 'currency' | 'description'> {
  readonly from: number;
  readonly to: number;
}

export interface ReadLines {
  /** No two of one extension, currency and description are of the same time. */
  readonly lines: readonly CostLine[];
  /** Those that are of a time which another line of the same answer is of. */
  readonly overlapping: readonly CostLine[];
  /** How many items could not be read. */
  readonly malformed: number;
}

export interface AskedPeriod {
  readonly from: number;
  readonly to: number;
}

export const AMOUNT_MAX = 100_000_000_000;
const ID = /^[^\p{Cc}]{1,200}$/u;
const DESCRIPTION_LENGTH_MAX = 200;
/** How far from the period that was asked for an item may lie: some are billed by the year. */
const AWAY_MAX_MS = 400 * 86_400_000;
/** What an item costs beside its text, in the units of `mapInTurns`. */
const ITEM_COST = 512;
/** Longer than any item whose texts are not too long. */
const ITEM_LENGTH_MAX = 16 * 1024;

/** `items`: the text of each, as JSON. One that comes twice counts once: the last one. */
export async function readCostLines(items: readonly string[], asked: AskedPeriod): Promise<ReadLines> {
  const read = await mapInTurns(
    items,
    (text) => ITEM_COST + text.length,
    (text) => toKeyedLine(toItem(text), asked),
  );
  const known = new Map<string, KeyedLine>();
  for (const keyed of read) if (keyed !== undefined) known.set(keyed.identity, keyed);
  await nextSlice();
  const sorted = [...known.values()].sort(
    ({ line: one }, { line: other }) => one.from - other.from || other.to - one.to,
  );
  await nextSlice();
  const ends = new Map<string, number>();
  const lines: CostLine[] = [];
  const overlapping: CostLine[] = [];
  for (const { line, kind } of sorted) {
    const end = ends.get(kind) ?? -Infinity;
    if (line.from < end) overlapping.push(line);
    else {
      lines.push(line);
      ends.set(kind, line.to);
    }
  }
  return { lines, overlapping, malformed: read.filter((keyed) => keyed === undefined).length };
}

interface KeyedLine {
  readonly line: CostLine;
  /** What the line is for: of one kind no two lines of the ledger are of the same time. */
  readonly kind: string;
  readonly identity: string;
}

function toItem(text: string): unknown {
  if (text.length > ITEM_LENGTH_MAX) return undefined;
  try {
    return parseBoundedJson(text);
  } catch {
    return undefined;
  }
}

function toKeyedLine(item: unknown, asked: AskedPeriod): KeyedLine | undefined {
  const line = toLine(item, asked);
  if (line === undefined) return undefined;
  const kind = JSON.stringify([line.extension_id, line.currency, line.description]);
  return { line, kind, identity: JSON.stringify([kind, line.from, line.to]) };
}

function toLine(item: unknown, asked: AskedPeriod): CostLine | undefined {
  const parsed = costItem.safeParse(item);
  if (!parsed.success) return undefined;
  const { extension_id, amount, currency, description } = parsed.data;
  const [from, to] = [Date.parse(parsed.data.from), Date.parse(parsed.data.to)];
  const isNear = from >= asked.from - AWAY_MAX_MS && to <= asked.to + AWAY_MAX_MS;
  if (!isNear || from > to || Math.abs(amount) > AMOUNT_MAX || !ID.test(extension_id)) return undefined;
  return { extension_id, from, to, amount, currency, description: toPlainText(description) };
}

/** Terminals and tables show it. PostgreSQL keeps no NUL. */
function toPlainText(text: string): string {
  return text
    .slice(0, DESCRIPTION_LENGTH_MAX)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]/gu, ' ')
    .trim();
}
