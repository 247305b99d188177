// How often the timer interrupts a busy CPU, which is fixed in each kernel and told by no file. An idle CPU has only the interrupts
// that it needs, so that the fewest interrupts in a second of busy time are the closest to the rate.

/** What kernels are built with. */
const RATES_HZ = [100, 250, 300];
const HIGHEST_HZ = 1_000;
/** Busy time is counted in units of ten milliseconds: less of it says too little. */
const ENOUGH_MS = 500;
const ROUNDING = 0.9;

export interface TickRate {
  /** Takes the timer interrupts and the busy time of all CPUs since the boot. */
  note(ticks: number, busy_ms: number): void;
  /** Never too low once it is learned from busy CPUs, and too high while most interrupts were those of idle ones. */
  readonly hz: number;
}

export function createTickRate(): TickRate {
  let last = { ticks: 0, busy_ms: 0 };
  let fewest_hz = HIGHEST_HZ;
  return {
    note(ticks, busy_ms) {
      const more_ms = busy_ms - last.busy_ms;
      if (more_ms >= 0 && more_ms < ENOUGH_MS) return;
      if (more_ms > 0 && ticks > last.ticks) fewest_hz = Math.min(fewest_hz, ((ticks - last.ticks) * 1_000) / more_ms);
      last = { ticks, busy_ms };
    },
    get hz() {
      return RATES_HZ.find((hz) => hz >= fewest_hz * ROUNDING) ?? HIGHEST_HZ;
    },
  };
}
