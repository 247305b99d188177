// Runs a worker thread that owns a database file. Answers come in the order of the questions; when the thread dies, open questions
// are rejected.
import { Worker } from 'node:worker_threads';
import { withDeadline } from '../core/with-deadline.ts';

/** How long the thread may take to close the file. A thread that hangs in a stalled disk is left behind. */
const CLOSE_MS = 2_000;

export interface DatabaseThread<Question, Answer> {
  /** Rejects when the thread has died. */
  ask(question: Question): Promise<Answer>;
  /** How many questions have no answer yet. */
  readonly waiting: number;
  readonly isGone: boolean;
  /** Lets the thread answer open questions and close its file. Resolves when it has ended, or was left behind. */
  close(): Promise<void>;
}

export interface DatabaseThreadOptions {
  readonly script: URL;
  readonly data: unknown;
  /** The name of the file, for messages. */
  readonly file: string;
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
  readonly onGone: () => void;
}

/** Starts the thread. It keeps the process running only while it is being closed. */
export function startDatabaseThread<Question, Answer>(
  options: DatabaseThreadOptions,
): DatabaseThread<Question, Answer> {
  const { script, data, file, onGone, ...resourceLimits } = options;
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
    onGone();
    const why = cause instanceof Error ? cause.message : `exit code ${code}`;
    const error = new Error(`the thread of ${file} ended (${why})`, { cause });
    for (const one of waiting.splice(0)) one.reject(error);
    gone.resolve();
  });
  return {
    ask(question) {
      if (isGone) return Promise.reject(new Error(`the thread of ${file} has ended`));
      const answer = Promise.withResolvers<Answer>();
      waiting.push(answer);
      worker.postMessage(question);
      return answer.promise;
    },
    get waiting() {
      return waiting.length;
    },
    get isGone() {
      return isGone;
    },
    async close() {
      worker.ref();
      worker.postMessage('close');
      const deadline = setTimeout(() => void worker.terminate(), CLOSE_MS);
      await withDeadline(2 * CLOSE_MS, gone.promise).catch(() => worker.unref());
      clearTimeout(deadline);
    },
  };
}
