// Ends a command on a signal: the first one asks it to end, a second one ends it at once.
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** SIGHUP is not among them: under systemd it asks for the settings to be read again. */
const signalsOfService = ['SIGINT', 'SIGTERM'] as const;
/** How long after the first signal the process exits, whatever is still open. */
const DEADLINE_MS = 20_000;
/** Signals closer together than this count as one: under npm one Ctrl-C comes from the terminal and from npm. */
const SAME_MS = 1_000;
const PARENT_POLL_MS = 500;

export interface StopSignals extends Disposable {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** Resolves at the first signal. */
  readonly stopped: Promise<void>;
  /** Acts like a first signal. */
  stop(): void;
}

/**
 * Listens for signals until it is disposed of. Under npm the end of the parent process counts as a signal: npm signals the shell that
 * it starts, and the shell does not pass the signal on. `isService`: SIGHUP is left to others.
 */
export function openStopSignals(env: NodeJS.ProcessEnv, isService = false): StopSignals {
  const names = isService ? signalsOfService : signals;
  const controller = new AbortController();
  let deadline: NodeJS.Timeout | undefined;
  let first_ms = 0;
  const stopped = new Promise<void>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  const stop = () => {
    if (controller.signal.aborted) return;
    first_ms = performance.now();
    controller.abort(new Error('stopped by a signal'));
    deadline = setTimeout(() => process.exit(1), DEADLINE_MS);
    deadline.unref();
  };
  const onSignal = () => {
    if (!controller.signal.aborted) stop();
    else if (performance.now() - first_ms > SAME_MS) process.exit(1);
  };
  for (const name of names) process.on(name, onSignal);

  const parent = process.ppid;
  const watchParent = () => {
    if (process.ppid !== parent) stop();
  };
  const watching = env.npm_lifecycle_event === undefined ? undefined : setInterval(watchParent, PARENT_POLL_MS);
  watching?.unref();
  return {
    signal: controller.signal,
    stopped,
    stop,
    [Symbol.dispose]() {
      clearTimeout(deadline);
      clearInterval(watching);
      for (const name of names) process.off(name, onSignal);
    },
  };
}
