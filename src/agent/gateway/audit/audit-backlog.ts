// The records that wait to be written, with a limit for each kind, so that refused calls take no room from sent ones. Pure.
import type { Clock } from '../../../core/clock.ts';
import { type AuditEntry, type AuditRow, budgetOf, budgetOfRow, countOfRow, toAuditRow } from './audit-request.ts';
import { createRefusalTally } from './refusal-tally.ts';

const SENT_MAX = 5_000;
const REFUSED_MAX = 2_000;

export interface AuditBacklog {
  add(entry: AuditEntry): void;
  /** Takes the records that are due, oldest first; with `all` also refusals that are still being gathered. */
  take(all: boolean): readonly AuditRow[];
  /** Takes back records that could not be written. */
  putBack(rows: readonly AuditRow[]): void;
  /** How many records are due. */
  readonly size: number;
  readonly isGathering: boolean;
  /** How many calls have lost their record. */
  readonly lost: number;
}

export function createAuditBacklog(clock: Clock): AuditBacklog {
  const tally = createRefusalTally();
  let sent: AuditRow[] = [];
  let refused: AuditRow[] = [];
  let lost = 0;

  function keepNewest(rows: AuditRow[], cap: number): AuditRow[] {
    if (rows.length <= cap) return rows;
    for (const row of rows.slice(0, -cap)) lost += countOfRow(row);
    return rows.slice(-cap);
  }

  return {
    add(entry) {
      const time = clock.wall_ms();
      if (budgetOf(entry) !== 'sent') {
        if (!tally.add(entry, time, clock.mono_ms())) lost += 1;
        return;
      }
      if (sent.length >= SENT_MAX) {
        sent.shift();
        lost += 1;
      }
      sent.push(toAuditRow(entry, time));
    },
    take(all) {
      const tallied = tally.take(clock.mono_ms(), all).map(({ entry, time, count }) => toAuditRow(entry, time, count));
      const rows = [...sent, ...refused, ...tallied];
      sent = [];
      refused = [];
      return rows.sort((a, b) => Number(a[0]) - Number(b[0]));
    },
    putBack(rows) {
      const isSent = (row: AuditRow) => budgetOfRow(row) === 'sent';
      sent = keepNewest([...rows.filter(isSent), ...sent], SENT_MAX);
      refused = keepNewest([...rows.filter((row) => !isSent(row)), ...refused], REFUSED_MAX);
    },
    get size() {
      return sent.length + refused.length + tally.due;
    },
    get isGathering() {
      return tally.isGathering;
    },
    get lost() {
      return lost;
    },
  };
}
