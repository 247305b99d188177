// Ending on a signal: the first one asks, a later one does not wait.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** What is still open this long after the first signal is not waited for. */
const DEADLINE_MS = 20_000;
/** Under npm one Ctrl-C comes twice: from the terminal, and passed on by npm. */
const SAME_MS = 1_000;
const PARENT_POLL_MS = 500;

export interface StopSignals extends Disposable {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Resolves at the first signal. */
  readonly stopped: Promise<void>;
}

/**
 * Listens for signals until it is disposed of. Under npm the death of the parent counts as one: npm signals the shell between
 * them, and the shell does not pass it on.
 */
export function openStopSignals(env: NodeJS.ProcessEnv): StopSignals {
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  let first_ms = 0;
  const stopped = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const stop = () => {
    first_ms = performance.now();
    controller.abort(new Error('stopped by a signal'));
    deadline = setTimeout(() => process.exit(1), DEADLINE_MS);
    deadline.unref();
  };
  const onSignal = () => {
    if (!controller.signal.aborted) stop();
    else if (performance.now() - first_ms > SAME_MS) process.exit(1);
  };
  for (const name of signals) process.on(name, onSignal);

  const parent = process.ppid;
  const watchParent = () => {
    if (process.ppid !== parent && !controller.signal.aborted) stop();
  };
  const watching = env.npm_lifecycle_event === undefined ? undefined : setInterval(watchParent, PARENT_POLL_MS);
  watching?.unref();
  return {
    signal: controller.signal,
    stopped,
    [Symbol.dispose]() {
      clearTimeout(deadline);
      clearInterval(watching);
      for (const name of signals) process.off(name, onSignal);
    },
  };
}
