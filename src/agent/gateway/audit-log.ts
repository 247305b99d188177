// The audit log: every call of the gateway as one row, kept by a thread of its own in batches, so that no call waits for a disk.
import type { GatewayRecord } from '../../contract/local/gateway.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { within } from '../within.ts';
import { type AuditAnswer, type AuditEntry, type AuditLink, type AuditRow, toAuditRow } from './audit-request.ts';

export const LOG_MAX_ROWS = 20_000;
const QUEUE_MAX = 5_000;
const FLUSH_MS = 500;
/** So many are written at once: a queue that fills in less time would lose some. */
const FLUSH_ROWS = 500;
const RETRY_MS = 5_000;
/** A write that takes longer is a problem to be shown, and a page is not waited for any longer. */
const LATE_MS = 3_000;
/** How long the last records may take at the end, and before a suspend. */
const LAST_MS = 1_000;

export interface AuditPage {
  readonly records: GatewayRecord[];
  readonly next: number | null;
  readonly lost: number;
}

export interface AuditLog extends AsyncDisposable {
  /** Never blocks and never throws. */
  add(entry: AuditEntry): void;
  /**
   * After `after`, oldest first; without it the newest. What is still queued is written first, if that can be. Throws `not_ready`
   * when the disk does not answer.
   */
  page(limit: number, after?: number): Promise<AuditPage>;
  /** Before the machine is suspended: writes what is queued and lets go of the thread, if the disk answers soon. */
  settle(): Promise<void>;
  /** Why records are not being kept; undefined when they are. */
  readonly problem: string | undefined;
}

export interface AuditLogOptions {
  readonly link: AuditLink;
  readonly clock: Clock;
  /** Told when `problem` changes. */
  readonly onProblem: () => void;
}

export function createAuditLog({ link, clock, onProblem }: AuditLogOptions): AuditLog {
  let queue: AuditRow[] = [];
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lost = 0;
  let problem: string | undefined;

  function setProblem(next: string | undefined): void {
    if (next === problem) return;
    problem = next;
    onProblem();
  }

  function keepNewest(rows: AuditRow[]): void {
    lost += Math.max(0, rows.length - QUEUE_MAX);
    queue = rows.slice(-QUEUE_MAX);
  }

  async function write(rows: AuditRow[]): Promise<void> {
    const late = setTimeout(() => setProblem('the audit log cannot be written: the disk does not answer'), LATE_MS);
    late.unref();
    const answer = await link.ask({ type: 'write', rows }).catch(toFailed);
    clearTimeout(late);
    if (answer.type === 'written') {
      setProblem(answer.problem);
      return;
    }
    setProblem(`the audit log cannot be written: ${answer.type === 'failed' ? answer.message : 'it answers nonsense'}`);
    keepNewest([...rows, ...queue]);
    schedule(RETRY_MS);
  }

  /** One batch at a time; what comes meanwhile is the next one. */
  function flush(): Promise<void> {
    if (writing !== undefined) return writing;
    clearTimeout(timer);
    timer = undefined;
    if (queue.length === 0) return Promise.resolve();
    const rows = queue;
    queue = [];
    writing = write(rows).finally(() => {
      writing = undefined;
      if (queue.length > 0) arrange();
    });
    return writing;
  }

  function schedule(delay_ms: number): void {
    timer ??= setTimeout(() => void flush(), delay_ms).unref();
  }

  function arrange(): void {
    if (writing !== undefined) return;
    if (queue.length < FLUSH_ROWS || problem !== undefined) schedule(FLUSH_MS);
    else void flush();
  }

  async function flushAll(): Promise<void> {
    await writing;
    await flush();
  }

  async function read(limit: number, after: number | undefined): Promise<GatewayRecord[]> {
    await flushAll();
    const answer = await link.ask({ type: 'page', limit, after });
    if (answer.type === 'page') return answer.records;
    throw new Error(answer.type === 'failed' ? answer.message : 'it answers nonsense');
  }

  return {
    add(entry) {
      if (queue.length >= QUEUE_MAX) {
        queue.shift();
        lost += 1;
      }
      queue.push(toAuditRow(entry, clock.wall_ms()));
      arrange();
    },
    async page(limit, after) {
      const records = await within(LATE_MS, read(limit, after)).catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        throw new RemoraError('not_ready', `the audit log cannot be read: ${why}`, { retryAfter_ms: RETRY_MS });
      });
      return { records, next: records.at(-1)?.seq ?? null, lost };
    },
    async settle() {
      await within(
        LAST_MS,
        flushAll().then(() => link.rest()),
      ).catch(() => undefined);
    },
    get problem() {
      return problem;
    },
    async [Symbol.asyncDispose]() {
      await within(LAST_MS, flushAll()).catch(() => undefined);
      clearTimeout(timer);
      await link[Symbol.asyncDispose]();
    },
  };
}

function toFailed(error: unknown): AuditAnswer {
  return { type: 'failed', message: error instanceof Error ? error.message : String(error) };
}
