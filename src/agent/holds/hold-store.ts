// Holds on disk, so that a restart of the agent releases none. A hold ends by run time, which counts only while the machine runs and
// starts at 0 with each process. So the store keeps the wall time at which the hold would end, and converts it when it is read.
import type { Hold, HoldMode, HoldTime } from '../../core/holds/hold-book.ts';
import type { Sqlite } from '../../sqlite/open.ts';

export const holdsSchema = `
  CREATE TABLE holds (
    name TEXT PRIMARY KEY,
    mode TEXT NOT NULL CHECK (mode IN ('block', 'delay')),
    reason TEXT,
    pid INTEGER,
    pid_started TEXT,
    created_wall_ms INTEGER NOT NULL,
    ends_wall_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL
  ) STRICT, WITHOUT ROWID`;

interface Row {
  readonly name: string;
  readonly mode: HoldMode;
  readonly reason: string | null;
  readonly pid: number | null;
  readonly pid_started: string | null;
  readonly created_wall_ms: number;
  readonly ends_wall_ms: number;
}

export interface HoldStore {
  save(hold: Hold, now: HoldTime): void;
  remove(name: string): void;
  /** The holds of this boot; those of an earlier one are deleted, because the processes they were for are gone. */
  load(now: HoldTime): Hold[];
}

/** Throws what SQLite throws: the caller keeps the hold in memory and reports that it is not on disk. */
export function createHoldStore(db: Sqlite, bootId: string): HoldStore {
  const upsert = db.prepare(`
    INSERT INTO holds VALUES (@name, @mode, @reason, @pid, @pid_started, @created_wall_ms, @ends_wall_ms, @boot_id)
    ON CONFLICT (name) DO UPDATE SET mode = excluded.mode, reason = excluded.reason, pid = excluded.pid,
      pid_started = excluded.pid_started, ends_wall_ms = excluded.ends_wall_ms, boot_id = excluded.boot_id`);
  const remove = db.prepare('DELETE FROM holds WHERE name = ?');
  const forget = db.prepare('DELETE FROM holds WHERE boot_id <> ?');
  const select = db.prepare<[], Row>('SELECT * FROM holds ORDER BY created_wall_ms, name');
  return {
    save(hold, now) {
      upsert.run({
        name: hold.name,
        mode: hold.mode,
        reason: hold.reason ?? null,
        pid: hold.process?.pid ?? null,
        pid_started: hold.process?.started ?? null,
        created_wall_ms: Math.round(hold.created_wall_ms),
        ends_wall_ms: Math.round(now.wall_ms + hold.deadline_run_ms - now.run_ms),
        boot_id: bootId,
      });
    },
    remove(name) {
      remove.run(name);
    },
    load(now) {
      forget.run(bootId);
      return select.all().map((row) => ({
        name: row.name,
        mode: row.mode,
        reason: row.reason ?? undefined,
        process: row.pid === null || row.pid_started === null ? undefined : { pid: row.pid, started: row.pid_started },
        connection: false,
        created_wall_ms: row.created_wall_ms,
        deadline_run_ms: now.run_ms + row.ends_wall_ms - now.wall_ms,
      }));
    },
  };
}
