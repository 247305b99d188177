// What noticing a resume costs on this machine, in microseconds: `node test/bench/detector.ts`.
import { createKernel } from '../../src/agent/resume/kernel.ts';
import { createWakeDetector } from '../../src/core/wake-detector.ts';

const TICKS_PER_SECOND = 4;

function measure(name: string, rounds: number, run: () => void): number {
  for (let warm = 0; warm < rounds / 10; warm += 1) run();
  const took_us: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const begun_ms = performance.now();
    run();
    took_us.push((performance.now() - begun_ms) * 1_000);
  }
  took_us.sort((a, b) => a - b);
  const at = (share: number) => took_us[Math.floor(took_us.length * share)] ?? Number.NaN;
  console.log(`${name.padEnd(28)} median ${at(0.5).toFixed(1)} µs, 99th percentile ${at(0.99).toFixed(1)} µs`);
  return at(0.5);
}

using kernel = createKernel();
const detector = createWakeDetector(kernel);
const { live, missing } = detector.signals();
console.log(`live: ${live.join(', ')}; missing: ${missing.join(', ') || 'none'}`);
measure('check before an action', 20_000, () => detector.check());
// Ticks in a row find the load read a moment ago; a tick every 250 ms reads it each time, so it is added here.
const tick_us = measure('tick', 20_000, () => detector.tick());
const load_us = measure('timer interrupts, steal', 5_000, () => {
  kernel.timerInterrupts();
  kernel.steal_ms();
  kernel.runQueueWait_ms();
});
const share = ((tick_us + load_us) * TICKS_PER_SECOND) / 10_000;
console.log(`four ticks a second: ${share.toFixed(3)} % of a core`);
