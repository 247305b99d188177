// Runs the primary-change hooks, one change at a time. While they run only the newest change waits, because hooks need the current
// primary and not each step. A hook that fails leaves the part `hooks` degraded until all hooks work again.
import type { Part } from '../parts.ts';
import type { Hooks } from './hooks.ts';
import { setHooksPart } from './set-hooks-part.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns the function to call with each change; its fields go to the hooks. */
export function createPrimaryChangeHooks(
  hooks: Pick<Hooks, 'primaryChange' | 'refusal'>,
  part: Part,
): (fields: Fields) => void {
  let waiting: Fields | undefined;
  let isRunning = false;
  let hasFailed = false;

  async function runAll(): Promise<void> {
    isRunning = true;
    for (let fields = waiting; fields !== undefined; fields = waiting) {
      waiting = undefined;
      const failed = (await hooks.primaryChange(fields)).filter((result) => !result.ok);
      if (failed.length > 0) {
        hasFailed = true;
        const reasons = failed.map((result) => `${result.name}: ${result.reason}`).join('; ');
        part.set('degraded', `after a change of the primary ${reasons}`);
      } else if (hasFailed) {
        hasFailed = false;
        setHooksPart(part, hooks);
      }
    }
    isRunning = false;
  }

  return (fields) => {
    waiting = fields;
    if (!isRunning) void runAll();
  };
}
