// What every part of the agent says of itself, for /v1/ready and /v1/status.
import type { z } from 'zod';
import { partNames, type partState } from '../contract/local/status.ts';
import { type Clock, toDateTime } from '../core/clock.ts';

export type PartName = (typeof partNames)[number];
export type PartState = z.infer<typeof partState>;

export interface PartReport {
  readonly state: PartState;
  readonly reason?: string;
  readonly since: string;
}

/** The handle through which one part reports. Saying the same thing twice keeps `since`. */
export interface Part {
  set(state: PartState, reason?: string): void;
  readonly state: PartState;
}

export interface PartBoard {
  part(name: PartName): Part;
  report(): Record<PartName, PartReport>;
  /** `not_ready` while a part is starting or failed, `degraded` while one serves with a reason. */
  readonly overall: 'ready' | 'degraded' | 'not_ready';
}

export function createPartBoard(clock: Clock): PartBoard {
  const reports = new Map<PartName, PartReport>();
  for (const name of partNames) reports.set(name, { state: 'off', since: toDateTime(clock.wall_ms()) });
  const stateOf = (name: PartName): PartState => reports.get(name)?.state ?? 'off';
  return {
    part: (name) => ({
      set(state, reason) {
        const before = reports.get(name);
        if (before?.state === state && before.reason === reason) return;
        const since = before?.state === state ? before.since : toDateTime(clock.wall_ms());
        reports.set(name, reason === undefined ? { state, since } : { state, reason, since });
      },
      get state() {
        return stateOf(name);
      },
    }),
    report: () => Object.fromEntries(reports) as Record<PartName, PartReport>,
    get overall() {
      const states = partNames.map(stateOf);
      if (states.some((state) => state === 'starting' || state === 'failed')) return 'not_ready';
      return states.includes('degraded') ? 'degraded' : 'ready';
    },
  };
}
