// Runs cache-worker.ts in a thread and passes requests to it. The thread starts with the first request and again after it died,
// and ends when there was no request for a while, because it has a heap of its own.
import { type DatabaseThread, startDatabaseThread } from '../../database-thread.ts';
import type { CacheAnswer, CacheLink, CacheRequest } from './cache-request.ts';

const IDLE_MS = 30_000;
/** The batches of a second are a few megabytes, so a heap that grows beyond this has a fault. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

interface Thread {
  readonly at: DatabaseThread<CacheRequest, CacheAnswer>;
  /** Set when another request than `open` started the thread: requests wait until the file has proved to be the same as before. */
  ready: Promise<void> | undefined;
  /** Why the file is not the same as before; undefined when it is. */
  lost: string | undefined;
  /** False while a database in memory stands in for the file: it would be lost with the thread. */
  mayEnd: boolean;
}

export interface CacheThread extends CacheLink {
  /** Whether the thread runs. */
  readonly isRunning: boolean;
}

export function createCacheThread(path: string, idle_ms = IDLE_MS): CacheThread {
  const ending = new Set<Promise<void>>();
  let thread: Thread | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  function start(): Thread {
    const script = new URL('./cache-worker.ts', import.meta.url);
    const onGone = () => {
      if (thread === started) thread = undefined;
    };
    const at = startDatabaseThread<CacheRequest, CacheAnswer>({
      script,
      data: path,
      file: 'replication.db',
      ...LIMITS,
      onGone,
    });
    const started: Thread = { at, ready: undefined, lost: undefined, mayEnd: false };
    return started;
  }

  /** Opens the file of the thread before. When it is gone, the request is answered with `failed`, and the caller opens the cache again. */
  async function reopen(to: Thread): Promise<void> {
    const answer = await to.at.ask({ type: 'open' });
    if (answer.type === 'opened' && answer.state === 'file') to.mayEnd = true;
    else to.lost = ('reason' in answer ? answer.reason : undefined) ?? 'the file was lost meanwhile';
  }

  function end(): void {
    clearTimeout(idleTimer);
    if (thread === undefined) return;
    const ended = thread.at.close().finally(() => ending.delete(ended));
    thread = undefined;
    ending.add(ended);
  }

  function endWhenIdle(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => {
      if (thread?.mayEnd === true && thread.at.waiting === 0) end();
    }, idle_ms);
    idleTimer.unref();
  }

  return {
    async ask(request) {
      let to = thread;
      // The end of the thread closed the file, which checkpointed it.
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
      const answer = await to.at.ask(request);
      if (answer.type === 'opened') to.mayEnd = answer.state !== 'memory';
      // A checkpoint comes before a suspend, and the snapshot holds all memory in use; so the thread ends.
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
