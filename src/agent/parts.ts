// What every part of the agent says of itself, for /v1/ready and /v1/status.
import type { Clock } from '../core/clock.ts';
import { toDateTime } from '../core/clock.ts';

export const partNames = ['store', 'machine', 'gateway', 'ports', 'notices', 'replication', 'resume'] as const;
export type PartName = (typeof partNames)[number];

/** `off`: its settings are absent. `degraded`: it serves, with the reason for what it cannot do. `failed`: it does not serve. */
export type PartState = 'off' | 'starting' | 'ok' | 'degraded' | 'failed';

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
  /** True when every part that is on is `ok`. */
  readonly ready: boolean;
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
    get ready() {
      return partNames.every((name) => stateOf(name) === 'ok' || stateOf(name) === 'off');
    },
  };
}
