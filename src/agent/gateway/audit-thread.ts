// The thread of audit-worker.ts as somebody to ask: started by the first request, ended when nothing was asked for a while, because a
// thread has a heap of its own, and started anew when it has died.
import { Worker } from 'node:worker_threads';
import { within } from '../replication/within.ts';
import type { AuditAnswer, AuditLink } from './audit-request.ts';
import type { AuditLimits } from './audit-store.ts';

const IDLE_MS = 30_000;
/** How long the thread may take to close the file. One that hangs in a stalled disk is left behind. */
const CLOSE_MS = 2_000;
const LIMITS = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 };

export interface AuditThreadData extends AuditLimits {
  readonly path: string;
}

interface Thread {
  readonly worker: Worker;
  readonly waiting: PromiseWithResolvers<AuditAnswer>[];
  readonly gone: Promise<void>;
  /** Memory that stands in for a file would be gone with the thread. */
  isMemory: boolean;
}

export interface AuditThread extends AuditLink {
  /** Whether there is a thread now. */
  readonly isRunning: boolean;
}

export function createAuditThread(data: AuditThreadData, idle_ms = IDLE_MS): AuditThread {
  let thread: Thread | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  function start(): Thread {
    const worker = new Worker(new URL('./audit-worker.ts', import.meta.url), {
      workerData: data,
      resourceLimits: LIMITS,
    });
    worker.unref();
    const gone = Promise.withResolvers<void>();
    const started: Thread = { worker, waiting: [], gone: gone.promise, isMemory: false };
    let cause: unknown;
    worker.on('message', (answer: AuditAnswer) => {
      started.isMemory = answer.type === 'written' ? answer.problem !== undefined : started.isMemory;
      started.waiting.shift()?.resolve(answer);
      endWhenIdle();
    });
    worker.once('error', (error) => {
      cause = error;
    });
    worker.once('exit', (code) => {
      if (thread === started) thread = undefined;
      const why = cause instanceof Error ? cause.message : `exit code ${code}`;
      const error = new Error(`the thread of gateway-log.db ended (${why})`, { cause });
      for (const one of started.waiting.splice(0)) one.reject(error);
      gone.resolve();
    });
    return started;
  }

  async function end(): Promise<void> {
    clearTimeout(idleTimer);
    if (thread === undefined) return;
    const { gone, worker } = thread;
    thread = undefined;
    worker.ref();
    worker.postMessage('close');
    await within(CLOSE_MS, gone).catch(() => {
      worker.unref();
      void worker.terminate();
    });
  }

  function endWhenIdle(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => {
      if (thread?.isMemory === false && thread.waiting.length === 0) void end();
    }, idle_ms);
    idleTimer.unref();
  }

  return {
    ask(request) {
      thread ??= start();
      endWhenIdle();
      const answer = Promise.withResolvers<AuditAnswer>();
      thread.waiting.push(answer);
      thread.worker.postMessage(request);
      return answer.promise;
    },
    get isRunning() {
      return thread !== undefined;
    },
    [Symbol.asyncDispose]: end,
  };
}
