// The audit log: every call of the gateway as one row, written in batches off the path of the call, bounded by number and age,
// oldest out first.
import type { GatewayRecord } from '../../contract/local/gateway.ts';
import type { Clock } from '../../core/clock.ts';
import { toDateTime } from '../../core/clock.ts';
import type { Sqlite } from '../../sqlite/open.ts';

export const LOG_MAX_ROWS = 20_000;
export const LOG_MAX_AGE_MS = 30 * 24 * 3_600_000;
const QUEUE_MAX = 5_000;
const FLUSH_MS = 500;
const RETRY_MS = 5_000;
const PATH_MAX = 2_048;
/** How often old rows are looked for: that reads the whole table. */
const AGE_CHECK_MS = 3_600_000;

/** A record as the gateway gives it; number and time are put in here. */
export type AuditEntry = Omit<GatewayRecord, 'seq' | 'time' | 'usage_known'>;

export interface AuditPage {
  readonly records: GatewayRecord[];
  readonly next: number | null;
  readonly lost: number;
}

export interface AuditLog extends Disposable {
  /** Never blocks and never throws. */
  add(entry: AuditEntry): void;
  /** After `after`, oldest first; without it the newest. What is still queued is written first. */
  page(limit: number, after?: number): AuditPage;
  /** Why records are not being kept; undefined when they are. */
  readonly problem: string | undefined;
}

export interface AuditLogOptions {
  readonly db: Sqlite;
  readonly clock: Clock;
  readonly maxRows?: number;
  readonly maxAge_ms?: number;
  /** Told when `problem` changes. */
  readonly onProblem: () => void;
}

interface Row extends AuditEntry {
  readonly seq: number;
  readonly time: number;
}

export function createAuditLog(options: AuditLogOptions): AuditLog {
  const { db, clock } = options;
  const { maxRows = LOG_MAX_ROWS, maxAge_ms = LOG_MAX_AGE_MS } = options;
  const insert = db.prepare<[Omit<Row, 'seq'>]>(
    `INSERT INTO gateway_log (time, provider, connector_id, method, path, decision, code, rule, status, ended,
       request_bytes, response_bytes, ms, input_tokens, output_tokens)
     VALUES (@time, @provider, @connector_id, @method, @path, @decision, @code, @rule, @status, @ended,
       @request_bytes, @response_bytes, @ms, @input_tokens, @output_tokens)`,
  );
  const trim = db.prepare<[number]>('DELETE FROM gateway_log WHERE seq <= (SELECT max(seq) FROM gateway_log) - ?');
  const expire = db.prepare<[number]>(
    'DELETE FROM gateway_log WHERE seq <= (SELECT max(seq) FROM gateway_log WHERE time < ?)',
  );
  const following = db.prepare<[number, number], Row>('SELECT * FROM gateway_log WHERE seq > ? ORDER BY seq LIMIT ?');
  const newest = db.prepare<[number], Row>('SELECT * FROM gateway_log ORDER BY seq DESC LIMIT ?');
  const writeAll = db.transaction((rows: readonly Omit<Row, 'seq'>[]) => {
    for (const row of rows) insert.run(row);
    trim.run(maxRows);
    const now_ms = clock.mono_ms();
    if (now_ms < ageChecked_ms + AGE_CHECK_MS) return;
    ageChecked_ms = now_ms;
    expire.run(clock.wall_ms() - maxAge_ms);
  });
  let ageChecked_ms = Number.NEGATIVE_INFINITY;
  let queue: Omit<Row, 'seq'>[] = [];
  let timer: NodeJS.Timeout | undefined;
  let lost = 0;
  let problem: string | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (queue.length === 0) return;
    const before = problem;
    try {
      writeAll(queue);
      queue = [];
      problem = undefined;
    } catch (error) {
      problem = `the audit log cannot be written: ${error instanceof Error ? error.message : String(error)}`;
      schedule(RETRY_MS);
    }
    if (problem !== before) options.onProblem();
  }

  function schedule(delay_ms: number): void {
    timer ??= setTimeout(flush, delay_ms).unref();
  }

  return {
    add(entry) {
      if (queue.length >= QUEUE_MAX) {
        queue.shift();
        lost += 1;
      }
      queue.push({ ...entry, path: entry.path.slice(0, PATH_MAX), time: clock.wall_ms() });
      schedule(FLUSH_MS);
    },
    page(limit, after) {
      flush();
      const rows = after === undefined ? newest.all(limit).reverse() : following.all(after, limit);
      const records = rows.map(toRecord);
      return { records, next: records.at(-1)?.seq ?? null, lost };
    },
    get problem() {
      return problem;
    },
    [Symbol.dispose]() {
      flush();
      clearTimeout(timer);
    },
  };
}

function toRecord(row: Row): GatewayRecord {
  const usage_known = row.input_tokens !== null || row.output_tokens !== null;
  return { ...row, time: toDateTime(row.time), usage_known };
}
