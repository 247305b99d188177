// Rows of sent calls that are written and stored as one text. Row by row, the log of a busy gateway would cost a tenth of what its calls
// cost: to copy each row to the thread, to insert it, and to delete it again. Pure.
import { type AuditRow, budgetOfRow, timeOfRow } from './audit-request.ts';

export interface AuditBlock {
  readonly calls: number;
  /** The time of the last call, in Unix milliseconds. */
  readonly time: number;
  /** Made by `toBlockText`. */
  readonly text: string;
}

/** What is written as one row of the table. */
export type AuditPart = AuditRow | AuditBlock;

/** A few calls stay rows, which the tools of the database can read. */
const BLOCK_MIN = 32;
/** The most calls of a block, all of which is parsed to read one of them. */
export const BLOCK_MAX = 128;

/** The same calls in the same order. */
export function toParts(rows: readonly AuditRow[]): readonly AuditPart[] {
  const parts: AuditPart[] = [];
  let run: AuditRow[] = [];
  const endRun = () => {
    const last = run.at(-1);
    if (last === undefined || run.length < BLOCK_MIN) parts.push(...run);
    else parts.push({ calls: run.length, time: timeOfRow(last), text: toBlockText(run) });
    run = [];
  };
  for (const row of rows) {
    const isSent = budgetOfRow(row) === 'sent';
    if (!isSent || run.length === BLOCK_MAX) endRun();
    if (isSent) run.push(row);
    else parts.push(row);
  }
  endRun();
  return parts;
}

export function isBlock(part: AuditPart): part is AuditBlock {
  return 'text' in part;
}

export function toBlockText(rows: readonly AuditRow[]): string {
  return JSON.stringify(rows);
}

/** `text` comes from `toBlockText`. */
export function parseBlockText(text: string): readonly AuditRow[] {
  return JSON.parse(text);
}
