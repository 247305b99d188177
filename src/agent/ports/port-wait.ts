// Waits until a port is as a caller wants it, judging only from scans that began after the call.
import type { PortCondition } from '../../contract/local/ports.ts';
import { answersHttp } from './http-probe.ts';
import type { PortWatcher } from './port-watcher.ts';

/** The time between two HTTP requests. */
const ASK_AGAIN_MS = 250;

export interface PortWait {
  readonly port: number;
  readonly until: PortCondition;
  readonly timeout_ms: number;
  /** Aborts when the caller is gone. */
  readonly signal: AbortSignal;
}

/** False when the time is up. Throws `not_ready` when the ports cannot be seen. */
export async function waitForPort(watcher: PortWatcher, wait: PortWait): Promise<boolean> {
  using _attention = watcher.attend();
  const end = AbortSignal.any([wait.signal, AbortSignal.timeout(wait.timeout_ms)]);
  await watcher.scanNow();
  while (!(await isMet(watcher, wait, end))) {
    if (end.aborted) return false;
    await nextScan(watcher, end, wait.until === 'http' ? ASK_AGAIN_MS : undefined);
  }
  return true;
}

async function isMet(watcher: PortWatcher, { port, until }: PortWait, end: AbortSignal): Promise<boolean> {
  const open = watcher.view.find(port);
  switch (until) {
    case 'listen':
      return open !== undefined;
    case 'closed':
      return open === undefined && !watcher.view.tracked.waiting.has(port);
    case 'http':
      if (open === undefined || !(await answersHttp(open.addresses[0] ?? '', port, end))) return false;
      // Another listener may have taken the port over since the last scan, and it is the one that answered.
      await watcher.scanNow();
      return watcher.view.find(port) !== undefined;
    default:
      return until satisfies never;
  }
}

function nextScan(watcher: PortWatcher, end: AbortSignal, limit_ms: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      stop();
      end.removeEventListener('abort', done);
      resolve();
    };
    const stop = watcher.onScan(done);
    const timer = limit_ms === undefined ? undefined : setTimeout(done, limit_ms);
    end.addEventListener('abort', done, { once: true });
    if (end.aborted) done();
  });
}
