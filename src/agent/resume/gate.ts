// The gate that local callers of the outside pass: closed while a suspend is near and while connections are being replaced, so
// that no call goes out over what is about to freeze or is dead already (resume.md, section 4, step 0).
import { RemoraError } from '../../core/remora-error.ts';

export const GATE_LIMIT_MS = 2_000;
const WAITERS = 1_024;

/** Why it is closed. Both may hold at once; what is told is that the machine is resuming. */
export type GateReason = 'suspending' | 'resuming';

const messages: Readonly<Record<GateReason, string>> = {
  suspending: 'the machine is about to be suspended; try again after it is resumed',
  resuming: 'the machine was just resumed and is replacing its connections; try again',
};

export interface Gate extends Disposable {
  close(reason: GateReason): void;
  open(reason: GateReason): void;
  /** Undefined when open. */
  readonly closed: GateReason | undefined;
  /**
   * Resolves at once when open, else as soon as it opens. Throws RemoraError `suspending` or `resuming` with a time to try again
   * after two seconds of run time, or at once when too many wait already. Who waits for a suspend and is resumed waits anew.
   */
  wait(): Promise<void>;
}

export interface GateOptions {
  /** Looks for a resume now: before a call goes out, and before an overdue timer turns one away. */
  readonly check: () => void;
  readonly limit_ms?: number;
}

export function createGate(options: GateOptions): Gate {
  const limit_ms = options.limit_ms ?? GATE_LIMIT_MS;
  const reasons = new Set<GateReason>();
  let waiters = 0;
  let opened = Promise.withResolvers<void>();

  function told(): GateReason | undefined {
    if (reasons.has('resuming')) return 'resuming';
    return reasons.has('suspending') ? 'suspending' : undefined;
  }

  function refusal(reason: GateReason): RemoraError {
    return new RemoraError(reason, messages[reason], { retryAfter_ms: 1_000 });
  }

  /** Whether the gate opened within the limit. */
  async function waitOnce(): Promise<boolean> {
    const late = Promise.withResolvers<'late'>();
    const timer = setTimeout(() => late.resolve('late'), limit_ms);
    try {
      while (told() !== undefined) {
        if ((await Promise.race([opened.promise, late.promise])) === 'late') {
          options.check();
          return told() === undefined;
        }
      }
      return true;
    } finally {
      clearTimeout(timer);
    }
  }

  async function waitClosed(before: GateReason): Promise<void> {
    if (await waitOnce()) return;
    const resumed = before === 'suspending' && told() === 'resuming';
    if (resumed && (await waitOnce())) return;
    throw refusal(told() ?? before);
  }

  return {
    close(reason) {
      reasons.add(reason);
    },
    open(reason) {
      reasons.delete(reason);
      if (reasons.size > 0) return;
      opened.resolve();
      opened = Promise.withResolvers<void>();
    },
    get closed() {
      return told();
    },
    async wait() {
      options.check();
      const reason = told();
      if (reason === undefined) return;
      if (waiters >= WAITERS) throw refusal(reason);
      waiters += 1;
      try {
        await waitClosed(reason);
      } finally {
        waiters -= 1;
      }
    },
    [Symbol.dispose]() {
      reasons.clear();
      opened.resolve();
    },
  };
}
