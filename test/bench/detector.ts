// What noticing a resume costs on this machine, in microseconds.

import { createResumeDetector } from '../../src/core/resume/resume-detector.ts';
import { createKernel } from '../../src/linux/kernel/kernel.ts';
import { type Figure, percentile } from './table.ts';

const TICKS_PER_SECOND = 4;

function measure(rounds: number, run: () => void): number[] {
  for (let warm = 0; warm < rounds / 10; warm += 1) run();
  return Array.from({ length: rounds }, () => {
    const begun_ms = performance.now();
    run();
    return (performance.now() - begun_ms) * 1_000;
  });
}

export function measureDetector(): Figure[] {
  using kernel = createKernel();
  const detector = createResumeDetector(kernel);
  const { live, missing } = detector.signals();
  const check = measure(20_000, () => detector.check());
  const tick = measure(20_000, () => detector.tick());
  // Ticks in a row find the load read a moment ago; a tick every 250 ms reads it each time, so it is added below.
  const load = measure(5_000, () => {
    kernel.timerInterrupts();
    kernel.cpus();
    kernel.runQueueWait_ms();
  });
  const tick_us = percentile(tick, 0.5) + percentile(load, 0.5);
  const shown = (values: readonly number[]) =>
    `median ${percentile(values, 0.5).toFixed(1)} µs, p99 ${percentile(values, 0.99).toFixed(1)} µs`;
  return [
    { what: 'check before an action', value: shown(check) },
    { what: 'tick', value: shown(tick) },
    { what: 'reading the load of the machine', value: shown(load) },
    { what: 'four ticks a second', value: `${((tick_us * TICKS_PER_SECOND) / 10_000).toFixed(3)} % of a core` },
    { what: 'signals', value: `live: ${live.join(', ')}; missing: ${missing.join(', ') || 'none'}` },
  ];
}
