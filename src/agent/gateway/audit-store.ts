// The rows of the audit log, on whatever thread: bounded by number and age, oldest out first.
import type { GatewayRecord } from '../../contract/local/gateway.ts';
import { toDateTime } from '../../core/clock.ts';
import type { OpenedDatabase, Sqlite } from '../../sqlite/open.ts';
import { mayHeal } from '../../sqlite/storage-failure.ts';
import { type AuditAnswer, type AuditEntry, type AuditRequest, type AuditRow, auditColumns } from './audit-request.ts';

/** How often old rows are looked for: that reads the whole table. */
const AGE_CHECK_MS = 3_600_000;

export interface AuditLimits {
  readonly maxRows: number;
  readonly maxAge_ms: number;
}

export interface AuditStore extends Disposable {
  /** Never throws. What failed may be asked again: the file is opened anew unless it can get better by itself. */
  answer(request: AuditRequest): AuditAnswer;
}

interface StoredRow extends AuditEntry {
  readonly seq: number;
  readonly time: number;
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
        return { type: 'failed', message: error instanceof Error ? error.message : String(error) };
      }
    },
    [Symbol.dispose]: close,
  };
}

function prepare(db: Sqlite, { maxRows, maxAge_ms }: AuditLimits) {
  const insert = db.prepare<unknown[]>(
    `INSERT INTO gateway_log (${auditColumns}) VALUES (${auditColumns.map(() => '?')})`,
  );
  const trim = db.prepare<[number]>('DELETE FROM gateway_log WHERE seq <= (SELECT max(seq) FROM gateway_log) - ?');
  const expire = db.prepare<[number]>(
    'DELETE FROM gateway_log WHERE seq <= (SELECT max(seq) FROM gateway_log WHERE time < ?)',
  );
  const following = db.prepare<[number, number], StoredRow>(
    'SELECT * FROM gateway_log WHERE seq > ? ORDER BY seq LIMIT ?',
  );
  const newest = db.prepare<[number], StoredRow>('SELECT * FROM gateway_log ORDER BY seq DESC LIMIT ?');
  let ageChecked_ms = Number.NEGATIVE_INFINITY;
  return {
    write: db.transaction((rows: readonly AuditRow[]) => {
      for (const row of rows) insert.run(...row);
      trim.run(maxRows);
      const now_ms = Number(rows.at(-1)?.[0] ?? 0);
      if (Math.abs(now_ms - ageChecked_ms) < AGE_CHECK_MS) return;
      ageChecked_ms = now_ms;
      expire.run(now_ms - maxAge_ms);
    }),
    page: (limit: number, after: number | undefined): StoredRow[] =>
      after === undefined ? newest.all(limit).reverse() : following.all(after, limit),
  };
}

function toRecord(row: StoredRow): GatewayRecord {
  const usage_known = row.input_tokens !== null || row.output_tokens !== null;
  return { ...row, time: toDateTime(row.time), usage_known };
}
