// The gate that local calls to the outside pass: closed while a suspend is near and while connections are being replaced, so
// that no call goes out over a connection that is about to freeze or is dead already.
import { RemoraError } from '../../core/remora-error.ts';

export const GATE_LIMIT_MS = 2_000;
const WAITERS = 1_024;

/** Why the gate is closed. When both reasons hold, `resuming` is the one that callers see. */
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
  /** Callers that wait, now and later, get `error`: the gate does not open in this process any more. */
  refuse(error: RemoraError): void;
  /**
   * Resolves at once when open, else as soon as it opens. Throws RemoraError `suspending` or `resuming`, with a time to try again,
   * after two seconds of run time, or at once when too many callers wait already. The two seconds start over at a resume.
   */
  wait(): Promise<void>;
  /** Does what `wait` does; undefined when open, so that nearly all calls go on without a promise. */
  pass(): Promise<void> | undefined;
}

export interface GateOptions {
  /** Looks for a resume now: before a call goes out, and before an overdue timer refuses one. */
  readonly check: () => void;
  readonly limit_ms?: number;
}

export function createGate(options: GateOptions): Gate {
  const limit_ms = options.limit_ms ?? GATE_LIMIT_MS;
  const reasons = new Set<GateReason>();
  let waiters = 0;
  let opened = Promise.withResolvers<void>();
  let refused: RemoraError | undefined;

  function closedBy(): GateReason | undefined {
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
      while (closedBy() !== undefined) {
        if (refused !== undefined) throw refused;
        if ((await Promise.race([opened.promise, late.promise])) === 'late') {
          options.check();
          return closedBy() === undefined;
        }
      }
      return true;
    } finally {
      clearTimeout(timer);
    }
  }

  async function waitClosed(before: GateReason): Promise<void> {
    if (await waitOnce()) return;
    const resumed = before === 'suspending' && closedBy() === 'resuming';
    if (resumed && (await waitOnce())) return;
    throw refusal(closedBy() ?? before);
  }

  async function waitInLine(reason: GateReason): Promise<void> {
    if (waiters >= WAITERS) throw refusal(reason);
    waiters += 1;
    try {
      await waitClosed(reason);
    } finally {
      waiters -= 1;
    }
  }

  function pass(): Promise<void> | undefined {
    options.check();
    const reason = closedBy();
    return reason === undefined ? undefined : waitInLine(reason);
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
    refuse(error) {
      refused = error;
      opened.resolve();
      opened = Promise.withResolvers<void>();
    },
    get closed() {
      return closedBy();
    },
    async wait() {
      await pass();
    },
    pass,
    [Symbol.dispose]() {
      reasons.clear();
      opened.resolve();
    },
  };
}
