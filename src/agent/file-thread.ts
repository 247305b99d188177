// A worker thread that owns a database file, as somebody to ask: answers come in the order of the questions, and a thread that died
// has an answer too.
import { Worker } from 'node:worker_threads';
import { within } from './within.ts';

/** How long the thread may take to close the file. One that hangs in a stalled disk is left behind. */
const CLOSE_MS = 2_000;

export interface FileThread<Question, Answer> {
  /** Rejects when the thread has died. */
  ask(question: Question): Promise<Answer>;
  /** Questions without an answer. */
  readonly waiting: number;
  readonly isGone: boolean;
  /** Lets the thread answer what it was asked and close its file. Resolves when it is gone, or given up. */
  close(): Promise<void>;
}

export interface FileThreadOptions {
  readonly script: URL;
  readonly data: unknown;
  /** For messages: the name of the file. */
  readonly file: string;
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
  readonly onGone: () => void;
}

/** Starts it. It does not keep the process running, but while it is being closed. */
export function startFileThread<Question, Answer>(options: FileThreadOptions): FileThread<Question, Answer> {
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
      await within(2 * CLOSE_MS, gone.promise).catch(() => worker.unref());
      clearTimeout(deadline);
    },
  };
}
