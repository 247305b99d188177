// Counts equal refusals together: the first of a kind is written with the next batch, later ones as one record for each
// `GATHER_MS`. Pure; the time is an argument.
import type { AuditEntry } from './audit-request.ts';

/** How long equal refusals are gathered before they are written again. */
export const GATHER_MS = 10_000;
const KINDS_MAX = 5_000;

export interface TalliedRefusal {
  readonly entry: AuditEntry;
  /** When the first of them came, in Unix milliseconds. */
  readonly time: number;
  readonly count: number;
}

export interface RefusalTally {
  /** False when there are too many kinds at once; the entry is dropped then. */
  add(entry: AuditEntry, time: number, now_ms: number): boolean;
  /** Takes the refusals that are due; with `all` also those that are still being gathered. */
  take(now_ms: number, all: boolean): TalliedRefusal[];
  /** How many kinds are due with the next batch. */
  readonly due: number;
  /** Whether refusals are being gathered. */
  readonly isGathering: boolean;
}

interface Kind {
  entry: AuditEntry;
  time: number;
  /** How many have not been written. */
  count: number;
  /** When they were last written; undefined before the first time. */
  written_ms: number | undefined;
}

export function createRefusalTally(): RefusalTally {
  const kinds = new Map<string, Kind>();
  let due = 0;
  let gathered = 0;

  function forgetQuiet(now_ms: number): void {
    for (const [key, { count, written_ms = now_ms }] of kinds) {
      if (count === 0 && now_ms - written_ms >= GATHER_MS) kinds.delete(key);
    }
  }

  return {
    add(entry, time, now_ms) {
      const key = toKey(entry);
      const known = kinds.get(key);
      if (known === undefined) {
        if (kinds.size >= KINDS_MAX) forgetQuiet(now_ms);
        if (kinds.size >= KINDS_MAX) return false;
        kinds.set(key, { entry, time, count: 1, written_ms: undefined });
        due += 1;
        return true;
      }
      if (known.count === 0) {
        Object.assign(known, { entry, time });
        gathered += 1;
      }
      known.count += 1;
      return true;
    },
    take(now_ms, all) {
      const taken: TalliedRefusal[] = [];
      if (due === 0 && gathered === 0) return taken;
      for (const kind of kinds.values()) {
        const { entry, time, count, written_ms } = kind;
        const isDue = written_ms === undefined || now_ms - written_ms >= GATHER_MS;
        if (count === 0 || !(all || isDue)) continue;
        taken.push({ entry, time, count });
        if (written_ms === undefined) due -= 1;
        else gathered -= 1;
        Object.assign(kind, { count: 0, written_ms: now_ms });
      }
      forgetQuiet(now_ms);
      return taken;
    },
    get due() {
      return due;
    },
    get isGathering() {
      return gathered > 0;
    },
  };
}

function toKey({ provider, connector_id, method, path, decision, code, rule, status }: AuditEntry): string {
  return JSON.stringify([provider, connector_id, method, path, decision, code, rule, status]);
}
