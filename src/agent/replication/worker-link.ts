// The thread of cache-worker.ts as somebody to ask. It is started by the first request, ended when nothing was asked for a while,
// because a thread has a heap of its own, and started anew when it has died.
import { Worker } from 'node:worker_threads';
import type { CacheAnswer, CacheLink, CacheRequest } from './cache-request.ts';
import { within } from './within.ts';

const IDLE_MS = 30_000;
/** How long the thread may take to close the file. One that hangs in a stalled disk is left behind. */
const CLOSE_MS = 2_000;
/** The batches of a second are a few megabytes; a heap that grows beyond this is a fault. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

interface Thread {
  readonly worker: Worker;
  readonly waiting: PromiseWithResolvers<CacheAnswer>[];
  readonly gone: Promise<void>;
  /** Where the thread was not started by an `open`: nothing reaches the file before it is known to be that of before. */
  ready: Promise<void> | undefined;
  /** The file is not what it had been. */
  lost: string | undefined;
  isGone: boolean;
  /** Memory that stands in for a file would be gone with the thread. */
  mayEnd: boolean;
}

export interface WorkerLink extends CacheLink {
  /** Whether there is a thread now. */
  readonly isRunning: boolean;
}

export function createWorkerLink(path: string, idle_ms = IDLE_MS): WorkerLink {
  const ending = new Set<Promise<void>>();
  let thread: Thread | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  function start(): Thread {
    const worker = new Worker(new URL('./cache-worker.ts', import.meta.url), {
      workerData: path,
      resourceLimits: LIMITS,
    });
    worker.unref();
    const waiting: PromiseWithResolvers<CacheAnswer>[] = [];
    const gone = Promise.withResolvers<void>();
    let cause: Error | undefined;
    const started: Thread = {
      worker,
      waiting,
      gone: gone.promise,
      ready: undefined,
      lost: undefined,
      isGone: false,
      mayEnd: false,
    };
    worker.on('message', (answer: CacheAnswer) => waiting.shift()?.resolve(answer));
    worker.once('error', (error) => {
      cause = error instanceof Error ? error : new Error(String(error));
    });
    worker.once('exit', (code) => {
      started.isGone = true;
      if (thread === started) thread = undefined;
      const error = new Error(`the thread of replication.db ended (${cause?.message ?? `exit code ${code}`})`, {
        cause,
      });
      for (const one of waiting.splice(0)) one.reject(error);
      gone.resolve();
    });
    return started;
  }

  function post(to: Thread, request: CacheRequest): Promise<CacheAnswer> {
    if (to.isGone) return Promise.reject(new Error('the thread of replication.db has ended'));
    const answer = Promise.withResolvers<CacheAnswer>();
    to.waiting.push(answer);
    to.worker.postMessage(request);
    return answer.promise;
  }

  /** Goes on with the file of before. Whoever asks is told when that is not there any more, and opens it with open eyes. */
  async function reopen(to: Thread): Promise<void> {
    const answer = await post(to, { type: 'open' });
    if (answer.type === 'opened' && answer.state === 'file') to.mayEnd = true;
    else to.lost = ('reason' in answer ? answer.reason : undefined) ?? 'the file was lost meanwhile';
  }

  function end(): void {
    clearTimeout(idleTimer);
    if (thread === undefined) return;
    const { gone, worker } = thread;
    thread = undefined;
    worker.ref();
    worker.postMessage('close');
    const deadline = setTimeout(() => void worker.terminate(), CLOSE_MS);
    const late = () => worker.unref();
    const ended = within(2 * CLOSE_MS, gone)
      .catch(late)
      .finally(() => {
        clearTimeout(deadline);
        ending.delete(ended);
      });
    ending.add(ended);
  }

  function endWhenIdle(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => {
      if (thread?.mayEnd === true && thread.waiting.length === 0) end();
    }, idle_ms);
    idleTimer.unref();
  }

  return {
    async ask(request) {
      let to = thread;
      // Closing the file has done so.
      if (to === undefined && request.type === 'checkpoint') return { type: 'done', ms: 0 };
      if (to === undefined) {
        to = start();
        thread = to;
        if (request.type !== 'open') to.ready = reopen(to);
      }
      endWhenIdle();
      if (to.ready !== undefined) await to.ready;
      if (to.lost !== undefined) {
        if (thread === to) end();
        return { type: 'failed', message: to.lost, isOpen: false };
      }
      const answer = await post(to, request);
      if (answer.type === 'opened') to.mayEnd = answer.state !== 'memory';
      // A suspend comes next: what is resident then has to be saved and loaded.
      if (request.type === 'checkpoint' && to.mayEnd && thread === to) {
        end();
        await Promise.all(ending);
      }
      return answer;
    },
    get isRunning() {
      return thread !== undefined;
    },
    async [Symbol.asyncDispose]() {
      end();
      await Promise.all(ending);
    },
  };
}
