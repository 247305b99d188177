// The line of the log that tells which operation held the event loop.
import type { Log } from '../core/log.ts';
import type { Hold } from './loop-watch.ts';

/** What a `LoopWatch` calls. A warning: every other caller of the process waited as long. */
export function logHolds(log: Pick<Log, 'warn'>): (hold: Hold) => void {
  return (hold) => log.warn(hold, 'an operation held the event loop');
}
