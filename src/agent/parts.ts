// The state of every part of the agent, for /v1/ready and /v1/status.
import type { z } from 'zod';
import { partNames, type partState } from '../contract/local/status.ts';
import { type Clock, toDateTime } from '../core/clock.ts';

export type PartName = (typeof partNames)[number];
export type PartState = z.infer<typeof partState>;

export interface PartStatus {
  readonly state: PartState;
  readonly reason?: string;
  readonly since: string;
}

/** The handle through which one part sets its state. Setting the same state again keeps `since`. */
export interface Part {
  set(state: PartState, reason?: string): void;
  readonly state: PartState;
}

export interface PartBoard {
  part(name: PartName): Part;
  statuses(): Record<PartName, PartStatus>;
  /** `not_ready` while a part is starting or failed, `degraded` while one serves with a reason. */
  readonly overall: 'ready' | 'degraded' | 'not_ready';
}

/** `onChange` is called after a part has got another state or reason. */
export function createPartBoard(clock: Clock, onChange?: () => void): PartBoard {
  const known = new Map<PartName, PartStatus>();
  for (const name of partNames) known.set(name, { state: 'off', since: toDateTime(clock.wall_ms()) });
  const stateOf = (name: PartName): PartState => known.get(name)?.state ?? 'off';
  return {
    part: (name) => ({
      set(state, reason) {
        const before = known.get(name);
        if (before?.state === state && before.reason === reason) return;
        const since = before?.state === state ? before.since : toDateTime(clock.wall_ms());
        known.set(name, reason === undefined ? { state, since } : { state, reason, since });
        onChange?.();
      },
      get state() {
        return stateOf(name);
      },
    }),
    statuses: () => Object.fromEntries(known) as Record<PartName, PartStatus>,
    get overall() {
      const states = partNames.map(stateOf);
      if (states.some((state) => state === 'starting' || state === 'failed')) return 'not_ready';
      return states.includes('degraded') ? 'degraded' : 'ready';
    },
  };
}
