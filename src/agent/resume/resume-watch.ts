// Drives the detector: looks every 250 ms and before every guarded action, and passes on each finding once.

import type { Finding } from '../../core/resume/finding.ts';
import { createResumeDetector, type DetectorMemory, type ResumeDetector } from '../../core/resume/resume-detector.ts';
import type { Kernel } from '../../linux/kernel/kernel.ts';
import { onBeat } from '../beat.ts';

export const TICK_MS = 250;

export interface ResumeWatchOptions {
  readonly kernel: Kernel;
  /** Called from within a tick, a check or a note, in order. */
  readonly onFinding: (finding: Finding) => void;
  readonly tick_ms?: number;
  /** What the detector of the former process of the agent knew. */
  readonly before?: DetectorMemory | undefined;
}

export interface ResumeWatch extends Disposable {
  /** Takes the baselines and ticks until the signal is aborted or the watch disposed. Before and after that every look finds nothing. */
  start(signal: AbortSignal): void;
  /** Looks now, in a few microseconds. Call it before using a pooled connection, writing a nonce or a lease, or moving a position. */
  check(): void;
  poke(recovering: boolean): void;
  noteDate(origin: string, date_ms: number, took_ms?: number): void;
  noteFailure(origin: string): void;
  setFence(up: boolean): void;
  /** Undefined when not started. */
  memory(): DetectorMemory | undefined;
  signals(): ReturnType<ResumeDetector['signals']>;
}

export function createResumeWatch({ kernel, onFinding, before, tick_ms = TICK_MS }: ResumeWatchOptions): ResumeWatch {
  const running = new DisposableStack();
  let detector: ResumeDetector | undefined;

  function passOn(findings: readonly Finding[] | undefined): void {
    if (findings !== undefined) for (const finding of findings) onFinding(finding);
  }

  return {
    start(signal) {
      if (signal.aborted || running.disposed) return;
      detector = createResumeDetector(kernel, before);
      running.defer(() => {
        detector = undefined;
      });
      running.defer(kernel.onContinued(() => passOn(detector?.noteContinued())));
      running.defer(onBeat(tick_ms, () => passOn(detector?.tick())));
      const stop = () => running.dispose();
      signal.addEventListener('abort', stop, { once: true });
      running.defer(() => signal.removeEventListener('abort', stop));
    },
    check: () => passOn(detector?.check()),
    poke: (recovering) => passOn(detector?.poke(recovering)),
    noteDate: (origin, date_ms, took_ms) => passOn(detector?.noteDate(origin, date_ms, took_ms)),
    noteFailure: (origin) => passOn(detector?.noteFailure(origin)),
    setFence: (up) => detector?.setFence(up),
    memory: () => detector?.memory(),
    signals: () => detector?.signals() ?? { live: [], missing: [], blind_spots: [] },
    [Symbol.dispose]: () => running.dispose(),
  };
}
