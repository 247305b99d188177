// The thread of cache-worker.ts as somebody to ask. It is started with the first request, and anew when it has died.
import { Worker } from 'node:worker_threads';
import type { CacheAnswer, CacheLink, CacheRequest } from './cache-request.ts';

/** How long the thread may take to close the file. One that hangs in a stalled disk is left behind. */
const CLOSE_MS = 2_000;
/** The batches of a second are a few megabytes; a heap that grows beyond this is a fault. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

interface Thread {
  readonly worker: Worker;
  readonly waiting: PromiseWithResolvers<CacheAnswer>[];
  readonly gone: Promise<void>;
}

export function createWorkerLink(path: string): CacheLink {
  let thread: Thread | undefined;

  function start(): Thread {
    const worker = new Worker(new URL('./cache-worker.ts', import.meta.url), {
      workerData: path,
      resourceLimits: LIMITS,
    });
    worker.unref();
    const waiting: PromiseWithResolvers<CacheAnswer>[] = [];
    const gone = Promise.withResolvers<void>();
    let cause: Error | undefined;
    worker.on('message', (answer: CacheAnswer) => waiting.shift()?.resolve(answer));
    worker.once('error', (error) => {
      cause = error instanceof Error ? error : new Error(String(error));
    });
    worker.once('exit', (code) => {
      if (thread?.worker === worker) thread = undefined;
      const error = new Error(`the thread of replication.db ended (${cause?.message ?? `exit code ${code}`})`, {
        cause,
      });
      for (const one of waiting.splice(0)) one.reject(error);
      gone.resolve();
    });
    return { worker, waiting, gone: gone.promise };
  }

  return {
    ask(request: CacheRequest) {
      thread ??= start();
      const answer = Promise.withResolvers<CacheAnswer>();
      thread.waiting.push(answer);
      thread.worker.postMessage(request);
      return answer.promise;
    },
    async [Symbol.asyncDispose]() {
      if (thread === undefined) return;
      const { gone, worker } = thread;
      worker.ref();
      worker.postMessage('close');
      const deadline = setTimeout(() => void worker.terminate(), CLOSE_MS);
      await gone;
      clearTimeout(deadline);
    },
  };
}
