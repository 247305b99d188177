// Notices that a connection is silent and has the node probed, which tells a quiet database from a dead node.
import type { Clock } from '../../../core/clock.ts';

export interface SilenceWatchOptions {
  readonly clock: Clock;
  readonly silence_ms: number;
  /** Resolves when the node works, throws when it does not. `signal` aborts when the connection ends first. */
  readonly probe: (signal: AbortSignal) => Promise<void>;
  /** Called when the probe failed and nothing was read meanwhile. */
  readonly onDead: (error: unknown) => void;
  /** Called when the probe was answered, or bytes came before it was. */
  readonly onAlive: () => void;
}

export interface SilenceWatch {
  start(): void;
  /** Call it when bytes were read. */
  onBytes(): void;
  stop(): void;
}

export function createSilenceWatch(options: SilenceWatchOptions): SilenceWatch {
  const { clock, silence_ms } = options;
  const stopped = new AbortController();
  let last_ms = 0;
  let timer: NodeJS.Timeout | undefined;

  function arm(delay_ms: number): void {
    if (stopped.signal.aborted) return;
    timer = setTimeout(check, Math.max(1, delay_ms));
    timer.unref();
  }

  function check(): void {
    const quiet_ms = clock.mono_ms() - last_ms;
    if (quiet_ms < silence_ms) arm(silence_ms - quiet_ms);
    else void probe();
  }

  async function probe(): Promise<void> {
    const before_ms = last_ms;
    try {
      await options.probe(stopped.signal);
    } catch (error) {
      if (stopped.signal.aborted) return;
      if (last_ms === before_ms) return options.onDead(error);
    }
    if (stopped.signal.aborted) return;
    options.onAlive();
    arm(silence_ms);
  }

  return {
    start() {
      last_ms = clock.mono_ms();
      arm(silence_ms);
    },
    onBytes() {
      last_ms = clock.mono_ms();
    },
    stop() {
      stopped.abort();
      clearTimeout(timer);
    },
  };
}
