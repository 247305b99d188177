// Drives the detector: a look every 250 ms and before every guarded action, and each finding handed on once.
import { untilBeat_ms } from '../../core/beat.ts';
import { createWakeDetector, type Finding, type WakeDetector, type WakeMemory } from '../../core/wake-detector.ts';
import type { Kernel } from './kernel.ts';

export const TICK_MS = 250;

export interface ResumeWatchOptions {
  readonly kernel: Kernel;
  /** Called from within a tick, a check or a note, in order. */
  readonly onFinding: (finding: Finding) => void;
  readonly tick_ms?: number;
  /** From the former image of this process. */
  readonly before?: WakeMemory | undefined;
}

export interface ResumeWatch extends Disposable {
  /** Takes the baselines and ticks until the signal is aborted or the watch disposed. Before and after that every look finds nothing. */
  start(signal: AbortSignal): void;
  /** Before using a pooled connection, writing a nonce or a lease, or moving a position: a few microseconds. */
  check(): void;
  poke(recovering: boolean): void;
  noteDate(origin: string, date_ms: number): void;
  noteFailure(origin: string): void;
  setFence(up: boolean): void;
  /** Undefined when not started. */
  memory(): WakeMemory | undefined;
  signals(): ReturnType<WakeDetector['signals']>;
}

export function createResumeWatch({ kernel, onFinding, before, tick_ms = TICK_MS }: ResumeWatchOptions): ResumeWatch {
  const running = new DisposableStack();
  let detector: WakeDetector | undefined;

  function hand(findings: readonly Finding[] | undefined): void {
    if (findings !== undefined) for (const finding of findings) onFinding(finding);
  }

  return {
    start(signal) {
      if (signal.aborted || running.disposed) return;
      detector = createWakeDetector(kernel, before);
      running.defer(() => {
        detector = undefined;
      });
      running.defer(kernel.onContinued(() => hand(detector?.noteContinued())));
      let timer = setTimeout(tick, tick_ms);
      function tick(): void {
        timer = setTimeout(tick, untilBeat_ms(performance.now(), tick_ms));
        hand(detector?.tick());
      }
      running.defer(() => clearTimeout(timer));
      const stop = () => running.dispose();
      signal.addEventListener('abort', stop, { once: true });
      running.defer(() => signal.removeEventListener('abort', stop));
    },
    check: () => hand(detector?.check()),
    poke: (recovering) => hand(detector?.poke(recovering)),
    noteDate: (origin, date_ms) => hand(detector?.noteDate(origin, date_ms)),
    noteFailure: (origin) => hand(detector?.noteFailure(origin)),
    setFence: (up) => detector?.setFence(up),
    memory: () => detector?.memory(),
    signals: () => detector?.signals() ?? { live: [], missing: [], blind_spots: [] },
    [Symbol.dispose]: () => running.dispose(),
  };
}
