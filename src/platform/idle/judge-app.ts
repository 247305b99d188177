// Which machine of an app is put to sleep next in a region: at most one in a round, and never one whose work the others could not take. Pure.
import type { WakeReason } from '../../contract/machine-idle.ts';

/** One machine of the app that runs in the region, on this host. */
export interface RunningMachine {
  readonly id: string;
  readonly inFlight: number;
  /** What its configuration says; see `SleepRule`. */
  readonly softLimit: number;
  readonly minRunning: number;
}

export interface AppFacts {
  /** Those that run in the region, or are about to. */
  readonly here: readonly RunningMachine[];
  /** How many more do on other hosts, of which nothing else is known. */
  readonly elsewhere: number;
  readonly round_ms: number;
}

/** A machine that is not needed sleeps after this time without work, or half a round if that is shorter. */
const SETTLE_MS = 30_000;

/**
 * What of the other machines keeps this one awake, and how long it must be without work otherwise: a short time where the others have room for
 * all that is in flight, a whole round for the last one and where nobody here knows what the others do.
 */
export function judgeInApp(
  id: string,
  { here, elsewhere, round_ms }: AppFacts,
): { readonly reasons: readonly WakeReason[]; readonly after_ms: number } {
  const minRunning = Math.max(0, ...here.map((machine) => machine.minRunning));
  const others = here.filter((machine) => machine.id !== id);
  if (others.length + elsewhere < minRunning) {
    const reason = `${here.length + elsewhere} run, and ${minRunning} are to run`;
    return { reasons: [toReason('min_machines_running', reason)], after_ms: round_ms };
  }
  if (others.length === 0) return { reasons: [], after_ms: round_ms };
  const inFlight = others.reduce((sum, machine) => sum + machine.inFlight, 0);
  const room = others.reduce((sum, { softLimit }) => sum + softLimit, 0);
  if (inFlight > room) {
    const reason = `${inFlight} requests are in flight, and the other machines take ${room}`;
    return { reasons: [toReason('capacity', reason)], after_ms: round_ms };
  }
  return { reasons: [], after_ms: Math.min(SETTLE_MS, round_ms / 2) };
}

function toReason(kind: 'min_machines_running' | 'capacity', reason: string): WakeReason {
  return { kind, owner: kind, since: null, reason };
}
