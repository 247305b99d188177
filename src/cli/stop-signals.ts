// Ending on a signal: the first one asks, a second one does not wait.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What is still open this long after the first signal is not waited for. */
const DEADLINE_MS = 20_000;

export interface StopSignals extends Disposable {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Resolves at the first signal. */
  readonly stopped: Promise<void>;
}

export function openStopSignals(): StopSignals {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  const stopped = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const onSignal = () => {
    if (controller.signal.aborted) process.exit(1);
    controller.abort(new Error('stopped by a signal'));
    deadline = setTimeout(() => process.exit(1), DEADLINE_MS);
    deadline.unref();
  };
  for (const name of signals) process.on(name, onSignal);
  return {
    signal: controller.signal,
    stopped,
    [Symbol.dispose]() {
      clearTimeout(deadline);
      for (const name of signals) process.off(name, onSignal);
    },
  };
}
