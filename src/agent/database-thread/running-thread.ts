// One run of a worker thread that owns a database file. Answers come in the order of the requests; when the thread dies, open
// requests are rejected.
import { Worker } from 'node:worker_threads';
import { withDeadline } from '../../core/with-deadline.ts';

/** How long the thread may take to close its file, and how long to end when it has not. */
const CLOSE_MS = 2_000;

export interface RunningThread<Request, Answer> {
  /** Rejects when the thread has died. */
  ask(request: Request): Promise<Answer>;
  /** How many requests have no answer yet. */
  readonly waiting: number;
  readonly isGone: boolean;
  /** Lets the thread answer open requests and close its file. Resolves when it has ended, or hangs in a stalled disk. */
  close(): Promise<void>;
}

export interface ThreadOptions {
  /** The script of the thread, which serves with `serveRequests`. */
  readonly script: URL;
  readonly data: unknown;
  /** The name of the file, for messages. */
  readonly file: string;
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
}

/** Starts the thread. It keeps the process running only while it is being closed. */
export function startThread<Request, Answer>(options: ThreadOptions): RunningThread<Request, Answer> {
  const { script, data, file, maxOldGenerationSizeMb, maxYoungGenerationSizeMb } = options;
  const resourceLimits = { maxOldGenerationSizeMb, maxYoungGenerationSizeMb };
  const worker = new Worker(script, { workerData: data, resourceLimits });
  worker.unref();
  const waiting: PromiseWithResolvers<Answer>[] = [];
  const gone = Promise.withResolvers<void>();
  let isGone = false;
  let cause: unknown;
  worker.on('message', (answer: Answer) => waiting.shift()?.resolve(answer));
  worker.once('error', (error) => {
    cause = error;
  });
  worker.once('exit', (code) => {
    isGone = true;
    const why = cause instanceof Error ? cause.message : `exit code ${code}`;
    const error = new Error(`the thread of ${file} ended (${why})`, { cause });
    for (const one of waiting.splice(0)) one.reject(error);
    gone.resolve();
  });
  return {
    ask(request) {
      if (isGone) return Promise.reject(new Error(`the thread of ${file} has ended`));
      const answer = Promise.withResolvers<Answer>();
      waiting.push(answer);
      worker.postMessage(request);
      return answer.promise;
    },
    get waiting() {
      return waiting.length;
    },
    get isGone() {
      return isGone;
    },
    async close() {
      if (isGone) return;
      worker.ref();
      worker.postMessage('close');
      await withDeadline(CLOSE_MS, gone.promise)
        .catch(() => withDeadline(CLOSE_MS, worker.terminate()))
        .catch(() => worker.unref());
    },
  };
}
