// Runs something again and again, with a pause that is worked out after each time.

/** Runs `tick` after each pause until `signal` is aborted; a tick that runs then is not cut off. `tick` never rejects. */
export function runTicks(signal: AbortSignal, tick: () => Promise<void>, pause_ms: () => number): void {
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    if (signal.aborted) return;
    timer = setTimeout(() => void tick().finally(schedule), pause_ms());
    timer.unref();
  };
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  schedule();
}
