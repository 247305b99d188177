// The holds that keep a machine awake, and when each of them ends. Time is the machine's run time, so that an hour of
// suspension does not use up a hold. A cap on wall time ends a hold that is renewed for ever.

/** The longest that one hold may last in all, renewals included. */
export const WALL_CAP_MS = 24 * 3_600_000;
/** The time that a hold near its end gets after a resume, to be renewed. */
export const RESUME_GRACE_MS = 30_000;
export const HOLDS_MAX = 1_000;

export type HoldMode = 'block' | 'delay';

/** A process is named by its pid and its start time, because pids are used again. */
export interface HoldProcess {
  readonly pid: number;
  readonly started: string;
}

export interface Hold {
  readonly name: string;
  readonly mode: HoldMode;
  readonly reason: string | undefined;
  readonly process: HoldProcess | undefined;
  /** True for a hold that ends with its connection and not by time. */
  readonly connection: boolean;
  readonly created_wall_ms: number;
  /** Run time at which it ends. Infinity for a hold of a connection, until its process is started again. */
  readonly deadline_run_ms: number;
}

export type ReleaseReason = 'released' | 'expired' | 'wall_cap' | 'process_gone' | 'connection_closed';

export interface HoldRequest {
  readonly name: string;
  readonly mode: HoldMode;
  readonly reason: string | undefined;
  readonly process: HoldProcess | undefined;
  readonly connection: boolean;
  /** Counted in run time, from now on. */
  readonly expire_ms: number;
}

/** Run time stands still while the machine is suspended; wall time does not. Both in milliseconds. */
export interface HoldTime {
  readonly run_ms: number;
  readonly wall_ms: number;
}

export type PutResult = { readonly type: 'held'; readonly hold: Hold } | { readonly type: 'full' };

export interface HoldBook {
  get(name: string): Hold | undefined;
  /** The holds in the order in which they were made. */
  all(): readonly Hold[];
  /** Makes a hold, or renews the one of that name, which keeps its first time of creation. */
  put(request: HoldRequest, now: HoldTime): PutResult;
  remove(name: string): Hold | undefined;
  /** Removes and returns the holds that have ended. `isRunning` is asked for holds that are bound to a process. */
  sweep(now: HoldTime, isRunning: (process: HoldProcess) => boolean): readonly { hold: Hold; why: ReleaseReason }[];
  /** Call it after a resume: holds near their end get the grace time. */
  resume(now: HoldTime): void;
  /** Restores the holds that an earlier process of the agent has written down. */
  restore(holds: readonly Hold[]): void;
}

export function createHoldBook(): HoldBook {
  const holds = new Map<string, Hold>();
  let graceUntil_run_ms = Number.NEGATIVE_INFINITY;

  function ending(hold: Hold, now: HoldTime, isRunning: (process: HoldProcess) => boolean): ReleaseReason | undefined {
    if (hold.process !== undefined && !isRunning(hold.process)) return 'process_gone';
    if (now.run_ms < graceUntil_run_ms) return undefined;
    if (now.run_ms >= hold.deadline_run_ms) return 'expired';
    if (now.wall_ms - hold.created_wall_ms >= WALL_CAP_MS) return 'wall_cap';
    return undefined;
  }

  return {
    get: (name) => holds.get(name),
    all: () => [...holds.values()],
    put(request, now) {
      const before = holds.get(request.name);
      if (before === undefined && holds.size >= HOLDS_MAX) return { type: 'full' };
      const { expire_ms, ...fields } = request;
      const hold: Hold = {
        ...fields,
        created_wall_ms: before?.created_wall_ms ?? now.wall_ms,
        deadline_run_ms: request.connection ? Number.POSITIVE_INFINITY : now.run_ms + expire_ms,
      };
      holds.set(hold.name, hold);
      return { type: 'held', hold };
    },
    remove(name) {
      const hold = holds.get(name);
      holds.delete(name);
      return hold;
    },
    sweep(now, isRunning) {
      const ended: { hold: Hold; why: ReleaseReason }[] = [];
      for (const hold of holds.values()) {
        const why = ending(hold, now, isRunning);
        if (why === undefined) continue;
        holds.delete(hold.name);
        ended.push({ hold, why });
      }
      return ended;
    },
    resume(now) {
      graceUntil_run_ms = now.run_ms + RESUME_GRACE_MS;
    },
    restore(kept) {
      for (const hold of kept) holds.set(hold.name, hold);
    },
  };
}
