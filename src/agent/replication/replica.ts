// What is known of the replica, in memory: the primary, and the position of each database with the connection that confirmed it.
// Answers come from here; the cache only keeps it across restarts.
import type { GapCause } from '../../contract/local/replication.ts';
import type { TxEvent } from '../../contract/replication.ts';
import { type Primary, samePrimary } from '../../core/replication/primary-status.ts';
import { decideStep, type KnownPosition, type PositionStep } from '../../core/replication/replication-position.ts';

/** Further databases are refused and counted, so that a broken node cannot fill the memory. */
export const DATABASE_CAP = 10_000;

export interface ReplicaEntry extends KnownPosition {
  readonly received_ms: number;
  /** `mount` when it was read from the mounted directory of the node and not from the stream. */
  readonly source?: 'mount';
}

export interface ReplicaStep extends PositionStep {
  readonly entry: ReplicaEntry;
  /** Why transactions were missed; set together with `missed`. */
  readonly cause: GapCause;
}

export interface Replica {
  /** Takes a position of an earlier run, unless one is known already. It is answered as stale until the stream confirms it. */
  restore(db: string, entry: ReplicaEntry): void;
  /** Call it when the connection ended or a new one began: no position is confirmed then. */
  doubtAll(): void;
  setPrimary(primary: Primary, now_ms: number): void;
  /** Applies a transaction; undefined when there are too many databases to take another. */
  apply(event: TxEvent, now_ms: number, source?: 'mount'): ReplicaStep | undefined;
  /** Forgets everything, because the node belongs to another cluster. */
  clear(): void;
  get(db: string): ReplicaEntry | undefined;
  /** True when a transaction of this database came on the current connection. */
  isConfirmed(db: string): boolean;
  readonly entries: ReadonlyMap<string, ReplicaEntry>;
  readonly primary: Primary;
  readonly primarySince_ms: number;
}

export function createReplica(start_ms: number): Replica {
  const entries = new Map<string, ReplicaEntry>();
  let confirmed = new Set<string>();
  let primary: Primary = { type: 'unknown' };
  let primarySince_ms = start_ms;

  function causeOf(db: string, step: PositionStep): GapCause {
    if (step.type === 'first' || !entries.has(db)) return 'before_first';
    return confirmed.has(db) ? 'jump' : 'disconnected';
  }

  return {
    restore(db, entry) {
      if (!entries.has(db)) entries.set(db, entry);
    },
    doubtAll() {
      confirmed = new Set();
    },
    setPrimary(next, now_ms) {
      if (samePrimary(next, primary)) return;
      primary = next;
      primarySince_ms = now_ms;
    },
    apply(event, now_ms, source) {
      const known = entries.get(event.db);
      if (known === undefined && entries.size >= DATABASE_CAP) return undefined;
      const step = decideStep(known, event.data);
      const read = { transaction: event.data, standing: step.standing, received_ms: now_ms };
      const entry: ReplicaEntry = source === undefined ? read : { ...read, source };
      const cause = causeOf(event.db, step);
      entries.set(event.db, entry);
      confirmed.add(event.db);
      return { ...step, entry, cause };
    },
    clear() {
      entries.clear();
      confirmed = new Set();
    },
    get: (db) => entries.get(db),
    isConfirmed: (db) => confirmed.has(db),
    entries,
    get primary() {
      return primary;
    },
    get primarySince_ms() {
      return primarySince_ms;
    },
  };
}
