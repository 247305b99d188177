// Runs audit-worker.ts in a thread and passes requests to it. The thread starts with the first request and again after it died,
// and ends when there was no request for a while, because it has a heap of its own.
import { type DatabaseThread, startDatabaseThread } from '../../database-thread.ts';
import type { AuditAnswer, AuditLink, AuditRequest } from './audit-request.ts';
import type { AuditLimits } from './audit-store.ts';

const IDLE_MS = 30_000;
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

export interface AuditThreadData extends AuditLimits {
  readonly path: string;
}

export interface AuditThread extends AuditLink {
  /** Whether the thread runs. */
  readonly isRunning: boolean;
}

export function createAuditThread(data: AuditThreadData, idle_ms = IDLE_MS): AuditThread {
  let thread: DatabaseThread<AuditRequest, AuditAnswer> | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  /** True while the rows are in memory because there is no file: they would be lost with the thread. */
  let isMemory = false;

  function start(): DatabaseThread<AuditRequest, AuditAnswer> {
    const script = new URL('./audit-worker.ts', import.meta.url);
    const onGone = () => {
      if (thread === started) thread = undefined;
    };
    const started = startDatabaseThread<AuditRequest, AuditAnswer>({
      script,
      data,
      file: 'gateway-log.db',
      ...LIMITS,
      onGone,
    });
    isMemory = false;
    return started;
  }

  async function end(): Promise<void> {
    clearTimeout(idleTimer);
    const ended = thread;
    thread = undefined;
    await ended?.close();
  }

  function endWhenIdle(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => {
      if (thread?.waiting === 0 && !isMemory) void end();
    }, idle_ms);
    idleTimer.unref();
  }

  return {
    async ask(request) {
      thread ??= start();
      endWhenIdle();
      const answer = await thread.ask(request);
      if (answer.type === 'written') isMemory = answer.problem !== undefined;
      endWhenIdle();
      return answer;
    },
    async rest() {
      if (!isMemory) await end();
    },
    get isRunning() {
      return thread !== undefined;
    },
    [Symbol.asyncDispose]: end,
  };
}
