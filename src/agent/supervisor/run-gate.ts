// Whether programs may run in this machine: once everything that restricts them holds.
import { setTimeout as sleep } from 'node:timers/promises';
import { RemoraError } from '../../core/remora-error.ts';
import { withDeadline } from '../../core/with-deadline.ts';

export interface RunGate {
  /** Resolves when programs may run, however long that takes. Rejects with `start_failed` and the reason when they may not. */
  pass(): Promise<void>;
  /** Does what `pass` does for a caller: rejects with `not_ready` and what is waited for when that takes long. */
  passInTime(): Promise<void>;
  /** Resolves when programs may run, also where they may not for a while: `onRefused` gets why, once. Rejects when `signal` aborts. */
  passAtLast(signal: AbortSignal, onRefused: (error: unknown) => void): Promise<void>;
}

export interface RunGateOptions {
  readonly limit_ms?: number;
  readonly retry_ms?: number;
}

const LIMIT_MS = 30_000;
const RETRY_MS = 2_000;

/** @param restrictions by what people call it: resolves when it holds, and rejects when it cannot. */
export function createRunGate(
  restrictions: Readonly<Record<string, () => Promise<void>>>,
  { limit_ms = LIMIT_MS, retry_ms = RETRY_MS }: RunGateOptions = {},
): RunGate {
  async function pass(awaited = new Set(Object.keys(restrictions))): Promise<void> {
    const all = Object.entries(restrictions).map(async ([name, holds]) => {
      await holds();
      awaited.delete(name);
    });
    await Promise.all(all);
  }
  return {
    pass: () => pass(),
    async passInTime() {
      const awaited = new Set(Object.keys(restrictions));
      await withDeadline(limit_ms, pass(awaited), () => notReady(awaited));
    },
    async passAtLast(signal, onRefused) {
      let isTold = false;
      for (;;) {
        try {
          return await pass();
        } catch (error) {
          if (!isTold) onRefused(error);
          isTold = true;
        }
        await sleep(retry_ms, undefined, { ref: false, signal });
      }
    },
  };
}

function notReady(awaited: ReadonlySet<string>): RemoraError {
  const message = `nothing runs in this machine yet: it waits for ${[...awaited].join(' and ')} of its sprite to hold`;
  return new RemoraError('not_ready', message, { retryAfter_ms: RETRY_MS });
}
