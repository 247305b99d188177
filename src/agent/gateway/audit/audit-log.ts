// The audit log: one row for each gateway call, and one with a count for equal refusals. A thread of its own writes them in batches,
// so that no call waits for the disk.
import type { GatewayRecord } from '../../../contract/local/gateway.ts';
import type { Clock } from '../../../core/clock.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { withDeadline } from '../../../core/with-deadline.ts';
import { createAuditBacklog } from './audit-backlog.ts';
import { toParts } from './audit-block.ts';
import type { AuditAnswer, AuditEntry, AuditLink, AuditRow } from './audit-request.ts';
import { GATHER_MS } from './refusal-tally.ts';

export const LOG_MAX_ROWS = 20_000;
const FLUSH_MS = 500;
/** A queue of this many records is written at once, without waiting for the timer, so that it does not overflow. */
const FLUSH_ROWS = 500;
const RETRY_MS = 5_000;
/** A write that takes longer is shown as a problem, and a page that takes longer is given up. */
const LATE_MS = 3_000;
/** How long the last write may take at the end of the process and before a suspend. */
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
   * Reads the records after number `after`, oldest first; without it the newest. What is queued is written first, if possible.
   * Throws `not_ready` when the disk does not answer.
   */
  page(limit: number, after?: number): Promise<AuditPage>;
  /**
   * Writes what is queued and ends the thread, if the disk answers within `limit_ms`; within a second when absent. Called before the
   * machine is suspended, and when the process is about to end.
   */
  settle(limit_ms?: number): Promise<void>;
  /** Why records are not being stored; undefined when they are. */
  readonly problem: string | undefined;
}

export interface AuditLogOptions {
  readonly link: AuditLink;
  readonly clock: Clock;
  /** Called when `problem` changes. */
  readonly onProblem: () => void;
}

export function createAuditLog({ link, clock, onProblem }: AuditLogOptions): AuditLog {
  const backlog = createAuditBacklog(clock);
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let gathering: NodeJS.Timeout | undefined;
  let problem: string | undefined;

  function setProblem(next: string | undefined): void {
    if (next === problem) return;
    problem = next;
    onProblem();
  }

  async function write(rows: readonly AuditRow[]): Promise<void> {
    const late = setTimeout(() => setProblem('the audit log cannot be written: the disk does not answer'), LATE_MS);
    late.unref();
    const answer = await link.ask({ type: 'write', parts: toParts(rows) }).catch(toFailed);
    clearTimeout(late);
    if (answer.type === 'written') {
      setProblem(answer.problem);
      return;
    }
    setProblem(`the audit log cannot be written: ${answer.type === 'failed' ? answer.message : 'it answers nonsense'}`);
    backlog.putBack(rows);
    schedule(RETRY_MS);
  }

  /** Writes one batch at a time; records that come meanwhile are in the next one. */
  function flush(all = false): Promise<void> {
    if (writing !== undefined) return writing;
    clearTimeout(timer);
    timer = undefined;
    const rows = backlog.take(all);
    if (rows.length === 0) return Promise.resolve();
    writing = write(rows).finally(() => {
      writing = undefined;
      if (backlog.size > 0) arrange();
    });
    return writing;
  }

  function schedule(delay_ms: number): void {
    timer ??= setTimeout(() => void flush(), delay_ms).unref();
  }

  function arrange(): void {
    if (backlog.isGathering) {
      gathering ??= setTimeout(() => {
        gathering = undefined;
        void flush().then(() => backlog.isGathering && arrange());
      }, GATHER_MS).unref();
    }
    if (writing !== undefined || backlog.size === 0) return;
    if (backlog.size < FLUSH_ROWS || problem !== undefined) schedule(FLUSH_MS);
    else void flush();
  }

  async function flushAll(): Promise<void> {
    await writing;
    await flush(true);
  }

  async function read(limit: number, after: number | undefined): Promise<GatewayRecord[]> {
    await flushAll();
    const answer = await link.ask({ type: 'page', limit, after });
    if (answer.type === 'page') return answer.records;
    throw new Error(answer.type === 'failed' ? answer.message : 'it answers nonsense');
  }

  return {
    add(entry) {
      backlog.add(entry);
      arrange();
    },
    async page(limit, after) {
      const records = await withDeadline(LATE_MS, read(limit, after)).catch((error: unknown) => {
        const why = toErrorMessage(error);
        throw new RemoraError('not_ready', `the audit log cannot be read: ${why}`, { retryAfter_ms: RETRY_MS });
      });
      return { records, next: records.at(-1)?.seq ?? null, lost: backlog.lost };
    },
    async settle(limit_ms = LAST_MS) {
      await withDeadline(
        limit_ms,
        flushAll().then(() => link.rest()),
      ).catch(() => undefined);
    },
    get problem() {
      return problem;
    },
    async [Symbol.asyncDispose]() {
      await withDeadline(LAST_MS, flushAll()).catch(() => undefined);
      clearTimeout(timer);
      clearTimeout(gathering);
      await link[Symbol.asyncDispose]();
    },
  };
}

function toFailed(error: unknown): AuditAnswer {
  return { type: 'failed', message: toErrorMessage(error) };
}
