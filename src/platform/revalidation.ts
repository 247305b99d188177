// Publishes `revalidation_due` every so often, because nothing notifies this process of a token that has expired, nor of what the
// command line changes in the database.
import type { Log } from '../core/log.ts';
import type { Changes } from './changes.ts';

/** Runs until it is disposed of; what a listener throws is logged. */
export function startRevalidation(period_ms: number, changes: Pick<Changes, 'publish'>, log: Log): Disposable {
  const timer = setInterval(() => {
    try {
      changes.publish({ type: 'revalidation_due' });
    } catch (err) {
      log.error({ err }, 'open calls could not be looked at again');
    }
  }, period_ms);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
