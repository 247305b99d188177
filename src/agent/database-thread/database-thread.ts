// A worker thread that owns a database file, so that a disk that stalls stalls no call. It starts with the first request and again
// after it died, and ends when there was no request for a while, because it has a heap of its own.
import { type RunningThread, startThread, type ThreadOptions } from './running-thread.ts';

const IDLE_MS = 30_000;

/** Sends requests to the thread. Answers come in the order of the requests. */
export interface DatabaseLink<Request, Answer> extends AsyncDisposable {
  /** Rejects when the thread died. */
  ask(request: Request): Promise<Answer>;
  /**
   * Closes the file, which moves its write-ahead log into it, and ends the thread until the next request: what a snapshot of the
   * machine then holds is small and complete. A thread whose rows are in memory only goes on. Never rejects.
   */
  rest(): Promise<void>;
}

export interface DatabaseThread<Request, Answer> extends DatabaseLink<Request, Answer> {
  /** Also true while it closes its file. */
  readonly isRunning: boolean;
}

export interface DatabaseThreadOptions<Answer> extends ThreadOptions {
  /** Whether the rows are in memory because there is no file, and would be lost with the thread; undefined = as before. */
  readonly isMemory: (answer: Answer) => boolean | undefined;
  readonly idle_ms?: number | undefined;
}

/** Nothing runs before the first request. */
export function createDatabaseThread<Request, Answer>(
  options: DatabaseThreadOptions<Answer>,
): DatabaseThread<Request, Answer> {
  const { idle_ms = IDLE_MS } = options;
  const ending = new Set<Promise<void>>();
  let thread: RunningThread<Request, Answer> | undefined;
  let isMemory = false;
  let idleTimer: NodeJS.Timeout | undefined;

  function need(): RunningThread<Request, Answer> {
    if (thread !== undefined && !thread.isGone) return thread;
    isMemory = false;
    thread = startThread(options);
    return thread;
  }

  async function end(): Promise<void> {
    clearTimeout(idleTimer);
    if (thread !== undefined) {
      const ended = thread.close().finally(() => ending.delete(ended));
      ending.add(ended);
      thread = undefined;
    }
    await Promise.all(ending);
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
      const asked = need();
      endWhenIdle();
      const answer = await asked.ask(request);
      if (asked === thread) isMemory = options.isMemory(answer) ?? isMemory;
      endWhenIdle();
      return answer;
    },
    async rest() {
      if (!isMemory) await end();
    },
    get isRunning() {
      return thread?.isGone === false || ending.size > 0;
    },
    [Symbol.asyncDispose]: end,
  };
}
