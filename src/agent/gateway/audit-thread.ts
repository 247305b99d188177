// The thread of audit-worker.ts as somebody to ask: started by the first request, ended when nothing was asked for a while, because a
// thread has a heap of its own, and started anew when it has died.
import { type FileThread, startFileThread } from '../file-thread.ts';
import type { AuditAnswer, AuditLink, AuditRequest } from './audit-request.ts';
import type { AuditLimits } from './audit-store.ts';

const IDLE_MS = 30_000;
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

export interface AuditThreadData extends AuditLimits {
  readonly path: string;
}

export interface AuditThread extends AuditLink {
  /** Whether there is a thread now. */
  readonly isRunning: boolean;
}

export function createAuditThread(data: AuditThreadData, idle_ms = IDLE_MS): AuditThread {
  let thread: FileThread<AuditRequest, AuditAnswer> | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  /** Memory that stands in for a file would be gone with the thread. */
  let isMemory = false;

  function start(): FileThread<AuditRequest, AuditAnswer> {
    const script = new URL('./audit-worker.ts', import.meta.url);
    const onGone = () => {
      if (thread === started) thread = undefined;
    };
    const started = startFileThread<AuditRequest, AuditAnswer>({
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
