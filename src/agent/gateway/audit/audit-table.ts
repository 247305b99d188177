// The table of the log of calls. Age and number are bounded, each kind has a number of its own, and the oldest calls go first. A row
// is one call or a block of them, whose last number it has.
import type { GatewayRecord } from '../../../contract/local/gateway.ts';
import { toDateTime } from '../../../core/clock.ts';
import type { Sqlite } from '../../../sqlite/open.ts';
import { type AuditBlock, type AuditPart, isBlock, parseBlockText, toBlockText } from './audit-block.ts';
import {
  type AuditBudget,
  type AuditEntry,
  type AuditRow,
  auditColumns,
  budgetOfRow,
  timeOfRow,
} from './audit-request.ts';

/** How often calls that are too old are looked for, which reads the whole table. */
const AGE_CHECK_MS = 3_600_000;

export interface AuditLimits {
  /** How many sent calls are kept. Blocked calls have half of it, and all other refusals have half of it. */
  readonly maxRows: number;
  readonly maxAge_ms: number;
}

export interface AuditTable {
  write(parts: readonly AuditPart[]): void;
  /** The calls after number `after`, oldest first; without it the newest. */
  page(limit: number, after: number | undefined): GatewayRecord[];
}

interface StoredCall extends AuditEntry {
  readonly seq: number;
  readonly time: number;
  readonly count: number;
  readonly budget: AuditBudget;
}

interface StoredRow extends StoredCall {
  readonly calls: number;
  readonly block: string | null;
}

export function openAuditTable(db: Sqlite, { maxRows, maxAge_ms }: AuditLimits): AuditTable {
  const insert = prepareInsert(db);
  const trim = prepareTrim(db);
  const count = db.prepare<[], { readonly budget: AuditBudget; readonly calls: number }>(
    'SELECT budget, sum(calls) AS calls FROM gateway_log GROUP BY budget',
  );
  const expire = db.prepare<[number]>(
    'DELETE FROM gateway_log WHERE seq <= (SELECT max(seq) FROM gateway_log WHERE time < ?)',
  );
  const following = db.prepare<[number], StoredRow>('SELECT * FROM gateway_log WHERE seq > ? ORDER BY seq');
  const newest = db.prepare<[], StoredRow>('SELECT * FROM gateway_log ORDER BY seq DESC');
  let ageChecked_ms = Number.NEGATIVE_INFINITY;
  const readCounts = () => new Map(count.all().map(({ budget, calls }) => [budget, calls]));
  /** How many calls of each budget are stored: counting them for each batch would read the whole index. */
  let stored = readCounts();

  /** Returns how many calls of each budget are stored afterwards. */
  const write = db.transaction((parts: readonly AuditPart[]) => {
    const counts = new Map(stored);
    let now_ms = 0;
    for (const part of parts) {
      const { budget, calls, time } = insert(part);
      counts.set(budget, (counts.get(budget) ?? 0) + calls);
      now_ms = time;
    }
    for (const [budget, number] of counts) {
      const most = budget === 'sent' ? maxRows : Math.ceil(maxRows / 2);
      if (number <= most) continue;
      trim(budget, number - most);
      counts.set(budget, most);
    }
    if (Math.abs(now_ms - ageChecked_ms) < AGE_CHECK_MS) return counts;
    ageChecked_ms = now_ms;
    return expire.run(now_ms - maxAge_ms).changes === 0 ? counts : readCounts();
  });

  return {
    write(parts) {
      stored = write(parts);
    },
    page(limit, after) {
      const calls =
        after === undefined
          ? readNewest(newest.iterate(), limit)
          : readFollowing(following.iterate(after), after, limit);
      return calls.map(toRecord);
    },
  };
}

interface Inserted {
  readonly budget: AuditBudget;
  readonly calls: number;
  readonly time: number;
}

function prepareInsert(db: Sqlite): (part: AuditPart) => Inserted {
  const insertRow = db.prepare<unknown[]>(
    `INSERT INTO gateway_log (${auditColumns}) VALUES (${auditColumns.map(() => '?')})`,
  );
  const insertBlock = db.prepare<[AuditBlock]>(
    `INSERT INTO gateway_log (seq, time, provider, connector_id, method, path, decision, request_bytes, response_bytes, ms, budget, calls, block)
       SELECT coalesce(max(seq), 0) + @calls, @time, '', '', '', '', 'allow', 0, 0, 0, 'sent', @calls, @text
       FROM sqlite_sequence WHERE name = 'gateway_log'`,
  );
  return (part) => {
    if (isBlock(part)) {
      insertBlock.run(part);
      return { budget: 'sent', calls: part.calls, time: part.time };
    }
    insertRow.run(...part);
    return { budget: budgetOfRow(part), calls: 1, time: timeOfRow(part) };
  };
}

/** Deletes the `surplus` oldest calls of a budget, from within a block as well. */
function prepareTrim(db: Sqlite): (budget: AuditBudget, surplus: number) => void {
  const oldest = db.prepare<[AuditBudget], Pick<StoredRow, 'seq' | 'calls'>>(
    'SELECT seq, calls FROM gateway_log WHERE budget = ? ORDER BY seq',
  );
  const drop = db.prepare<[AuditBudget, number]>('DELETE FROM gateway_log WHERE budget = ? AND seq <= ?');
  const read = db.prepare<[number], Pick<StoredRow, 'block'>>('SELECT block FROM gateway_log WHERE seq = ?');
  const shorten = db.prepare<[number, string, number]>('UPDATE gateway_log SET calls = ?, block = ? WHERE seq = ?');
  return (budget, surplus) => {
    let left = surplus;
    let last = 0;
    let cut: number | undefined;
    for (const { seq, calls } of oldest.iterate(budget)) {
      if (calls > left) {
        cut = left === 0 ? undefined : seq;
        break;
      }
      left -= calls;
      last = seq;
    }
    drop.run(budget, last);
    if (cut === undefined) return;
    const kept = parseBlockText(read.get(cut)?.block ?? '[]').slice(left);
    shorten.run(kept.length, toBlockText(kept), cut);
  };
}

function readFollowing(rows: Iterable<StoredRow>, after: number, limit: number): StoredCall[] {
  const found: StoredCall[] = [];
  for (const row of rows) {
    found.push(...toCalls(row).filter(({ seq }) => seq > after));
    if (found.length >= limit) break;
  }
  return found.slice(0, limit);
}

/** `rows` have the newest first, the result has it last. */
function readNewest(rows: Iterable<StoredRow>, limit: number): StoredCall[] {
  const found: StoredCall[] = [];
  for (const row of rows) {
    found.push(...toCalls(row).reverse());
    if (found.length >= limit) break;
  }
  return found.slice(0, limit).reverse();
}

function toCalls({ calls, block, ...own }: StoredRow): StoredCall[] {
  if (block === null) return [own];
  const first = own.seq - calls + 1;
  return parseBlockText(block).map((row, index) => ({ ...own, ...toFields(row), seq: first + index }));
}

function toFields(row: AuditRow): Partial<StoredCall> {
  return Object.fromEntries(auditColumns.map((name, index) => [name, row[index]]));
}

function toRecord({ budget: _, ...call }: StoredCall): GatewayRecord {
  const usage_known = call.input_tokens !== null || call.output_tokens !== null;
  return { ...call, time: toDateTime(call.time), usage_known };
}
