// The thread of cache-worker.ts as somebody to ask. It is started by the first request, ended when nothing was asked for a while,
// because a thread has a heap of its own, and started anew when it has died.
import { type FileThread, startFileThread } from '../file-thread.ts';
import type { CacheAnswer, CacheLink, CacheRequest } from './cache-request.ts';

const IDLE_MS = 30_000;
/** The batches of a second are a few megabytes; a heap that grows beyond this is a fault. */
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

interface Thread {
  readonly at: FileThread<CacheRequest, CacheAnswer>;
  /** Where the thread was not started by an `open`: nothing reaches the file before it is known to be that of before. */
  ready: Promise<void> | undefined;
  /** The file is not what it had been. */
  lost: string | undefined;
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
    const script = new URL('./cache-worker.ts', import.meta.url);
    const onGone = () => {
      if (thread === started) thread = undefined;
    };
    const at = startFileThread<CacheRequest, CacheAnswer>({
      script,
      data: path,
      file: 'replication.db',
      ...LIMITS,
      onGone,
    });
    const started: Thread = { at, ready: undefined, lost: undefined, mayEnd: false };
    return started;
  }

  /** Goes on with the file of before. Whoever asks is told when that is not there any more, and opens it with open eyes. */
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
      const answer = await to.at.ask(request);
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
