// Stores the rows of the audit log. Age and number are bounded, each kind has a number of its own, and the oldest rows go first.
import type { GatewayRecord } from '../../../contract/local/gateway.ts';
import { toDateTime } from '../../../core/clock.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { OpenedDatabase, Sqlite } from '../../../sqlite/open.ts';
import { mayHeal } from '../../../sqlite/storage-failure.ts';
import type { RequestStore } from '../../database-thread/serve-requests.ts';
import {
  type AuditAnswer,
  type AuditBudget,
  type AuditEntry,
  type AuditRequest,
  type AuditRow,
  auditColumns,
  budgetOfRow,
} from './audit-request.ts';

/** How often rows that are too old are looked for, which reads the whole table. */
const AGE_CHECK_MS = 3_600_000;

export interface AuditLimits {
  /** How many rows of sent calls are kept. Blocked calls have half of it, and all other refusals have half of it. */
  readonly maxRows: number;
  readonly maxAge_ms: number;
}

/** A failed request may be repeated: the file is opened again then, unless the failure can pass by itself. */
export type AuditStore = RequestStore<AuditRequest, AuditAnswer>;

interface StoredRow extends AuditEntry {
  readonly seq: number;
  readonly time: number;
  readonly count: number;
  readonly budget: AuditBudget;
}

export function createAuditStore(open: () => OpenedDatabase, limits: AuditLimits): AuditStore {
  let opened: OpenedDatabase | undefined;
  let statements: ReturnType<typeof prepare> | undefined;

  function need(): ReturnType<typeof prepare> {
    opened ??= open();
    statements ??= prepare(opened.db, limits);
    return statements;
  }

  function close(): void {
    opened?.db.close();
    opened = undefined;
    statements = undefined;
  }

  function answer(request: AuditRequest): AuditAnswer {
    switch (request.type) {
      case 'write': {
        need().write(request.rows);
        return { type: 'written', problem: opened?.state === 'memory' ? opened.reason : undefined };
      }
      case 'page':
        return { type: 'page', records: need().page(request.limit, request.after).map(toRecord) };
      default:
        return request satisfies never;
    }
  }

  return {
    answer(request) {
      try {
        return answer(request);
      } catch (error) {
        if (!mayHeal(error)) close();
        return { type: 'failed', message: toErrorMessage(error) };
      }
    },
    [Symbol.dispose]: close,
  };
}

function prepare(db: Sqlite, { maxRows, maxAge_ms }: AuditLimits) {
  const insert = db.prepare<unknown[]>(
    `INSERT INTO gateway_log (${auditColumns}) VALUES (${auditColumns.map(() => '?')})`,
  );
  const count = db.prepare<[], { readonly budget: AuditBudget; readonly rows: number }>(
    'SELECT budget, count(*) AS rows FROM gateway_log GROUP BY budget',
  );
  const trim = db.prepare<[AuditBudget, AuditBudget, number]>(
    `DELETE FROM gateway_log WHERE budget = ? AND seq <=
       (SELECT seq FROM gateway_log WHERE budget = ? ORDER BY seq LIMIT 1 OFFSET ?)`,
  );
  const expire = db.prepare<[number]>(
    'DELETE FROM gateway_log WHERE seq <= (SELECT max(seq) FROM gateway_log WHERE time < ?)',
  );
  const following = db.prepare<[number, number], StoredRow>(
    'SELECT * FROM gateway_log WHERE seq > ? ORDER BY seq LIMIT ?',
  );
  const newest = db.prepare<[number], StoredRow>('SELECT * FROM gateway_log ORDER BY seq DESC LIMIT ?');
  let ageChecked_ms = Number.NEGATIVE_INFINITY;
  const readCounts = () => new Map(count.all().map(({ budget, rows }) => [budget, rows]));
  /** How many rows of each budget are stored: counting them for each batch would read the whole index. */
  let stored = readCounts();

  /** Returns how many rows of each budget are stored afterwards. */
  const write = db.transaction((rows: readonly AuditRow[]) => {
    const counts = new Map(stored);
    for (const row of rows) {
      insert.run(...row);
      const budget = budgetOfRow(row);
      counts.set(budget, (counts.get(budget) ?? 0) + 1);
    }
    for (const [budget, number] of counts) {
      const most = budget === 'sent' ? maxRows : Math.ceil(maxRows / 2);
      if (number <= most) continue;
      trim.run(budget, budget, number - most - 1);
      counts.set(budget, most);
    }
    const now_ms = Number(rows.at(-1)?.[0] ?? 0);
    if (Math.abs(now_ms - ageChecked_ms) < AGE_CHECK_MS) return counts;
    ageChecked_ms = now_ms;
    return expire.run(now_ms - maxAge_ms).changes === 0 ? counts : readCounts();
  });

  return {
    write(rows: readonly AuditRow[]) {
      stored = write(rows);
    },
    page: (limit: number, after: number | undefined): StoredRow[] =>
      after === undefined ? newest.all(limit).reverse() : following.all(after, limit),
  };
}

function toRecord({ budget: _, ...row }: StoredRow): GatewayRecord {
  const usage_known = row.input_tokens !== null || row.output_tokens !== null;
  return { ...row, time: toDateTime(row.time), usage_known };
}
