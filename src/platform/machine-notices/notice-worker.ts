// Looks for notices that are due: when a machine has moved, when the first of those that wait is due, and every few seconds while some provider
// is to be told of anything, because other processes record notices too. While there is no such provider it looks once a minute for one.
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { NoticeSender } from './notice-sender.ts';
import type { NoticeStore } from './notice-store.ts';

export interface NoticeWorker extends AsyncDisposable {
  /** Looks soon. Call it after something was recorded that providers may be told of. */
  wake(): void;
}

export interface NoticeWorkerDeps {
  readonly store: Pick<NoticeStore, 'listDue' | 'nextAt' | 'hasListeners'>;
  readonly send: NoticeSender;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
}

/** Several events of one move are one look. */
const SOON_MS = 20;
/** What another platform process has taken is looked at again after this time. */
const SHORTEST_MS = 1_000;
const POLL_MS = 5_000;
const IDLE_MS = 60_000;

/** Each provider is worked on by itself, so that a slow one delays no other one. */
export function createNoticeWorker({ store, send, clock, log }: NoticeWorkerDeps): NoticeWorker {
  const closing = new AbortController();
  const working = new Map<string, Promise<void>>();
  let timer: NodeJS.Timeout | undefined;
  let dueAt_ms = Infinity;
  let looking: Promise<void> = Promise.resolve();

  function schedule(delay_ms: number): void {
    const at_ms = clock.mono_ms() + delay_ms;
    if (closing.signal.aborted || at_ms >= dueAt_ms) return;
    clearTimeout(timer);
    dueAt_ms = at_ms;
    timer = setTimeout(() => {
      dueAt_ms = Infinity;
      looking = looking.then(look);
    }, delay_ms);
    timer.unref();
  }

  async function look(): Promise<void> {
    if (closing.signal.aborted) return;
    try {
      for (const provider of await store.listDue(clock.wall_ms())) {
        if (!working.has(provider)) working.set(provider, work(provider));
      }
      const next_at = (await store.nextAt()) ?? Infinity;
      schedule(
        Math.max(SHORTEST_MS, Math.min(next_at - clock.wall_ms(), (await store.hasListeners()) ? POLL_MS : IDLE_MS)),
      );
    } catch (error) {
      onFailure(error);
    }
  }

  async function work(provider: string): Promise<void> {
    try {
      // Something may have come after the last claim; where nothing could be claimed, another platform process has it.
      schedule((await send(provider, closing.signal)) > 0 ? SOON_MS : SHORTEST_MS);
    } catch (error) {
      onFailure(error);
    } finally {
      working.delete(provider);
    }
  }

  function onFailure(err: unknown): void {
    if (closing.signal.aborted) return;
    log.warn({ err }, 'notices of providers could not be sent; it is tried again');
    schedule(SHORTEST_MS);
  }

  return {
    wake: () => schedule(SOON_MS),
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('the platform is stopping'));
      clearTimeout(timer);
      await looking;
      await Promise.all(working.values());
    },
  };
}
