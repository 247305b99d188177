// Keeps the agent small: from time to time, and before a suspend, memory that nobody uses goes back to the kernel.
import { openReturnMemory, type ReturnMemory } from '../linux/return-memory.ts';
import type { OldGarbage } from './old-garbage.ts';

/** What it takes is a ten-thousandth of this. */
const EVERY_MS = 20_000;

export interface SpareMemory extends Disposable {
  start(): void;
  /** Resolves when it is given back. */
  giveBack(): Promise<void>;
}

export function createSpareMemory(every_ms = EVERY_MS): SpareMemory {
  let opened: Promise<ReturnMemory> | undefined;
  let garbage: OldGarbage | undefined;
  let timer: NodeJS.Timeout | undefined;
  async function giveBack(): Promise<void> {
    opened ??= openReturnMemory();
    (await opened)();
  }
  async function look(): Promise<void> {
    if (garbage === undefined) {
      const { createOldGarbage } = await import('./old-garbage.ts');
      garbage = createOldGarbage();
    } else garbage.look();
    await giveBack();
  }
  return {
    start() {
      timer = setInterval(() => void look(), every_ms).unref();
    },
    giveBack,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
