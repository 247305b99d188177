// Which machines of this host may be put to sleep, and when one of an app was last.
import { type MachineRow, parseRow, type StoredMachine } from '../machines/records/machine-row.ts';
import { selectMachines } from '../machines/records/machine-store.ts';
import type { Sql } from '../storage/storage.ts';

export interface IdleStore {
  /** The ids of the running sprites of this host, sorted; the first `limit` after `after`. */
  listRunningSprites(after: string, limit: number): Promise<readonly string[]>;
  /** The running sprites of an organization on this host. */
  listSpritesOf(organization_id: string, limit: number): Promise<readonly MachineRow[]>;
  /** The machines of apps that run on this host and whose services may say when they sleep, by id; the first `limit` after `after`. */
  listRunningInApps(after: string, limit: number): Promise<readonly MachineRow[]>;
  /** The machines of an app that run in a region on this host, or are about to. */
  listRunningOf(app: string, region: string): Promise<readonly MachineRow[]>;
  /** How many more do on other hosts. */
  countElsewhere(app: string, region: string): Promise<number>;
  /** The sprites of this host that have been suspended since before a time, those that were first. */
  listWarm(before_ms: number, limit: number): Promise<readonly MachineRow[]>;
  /** The same of one organization, whenever it was. */
  listWarmOf(organization_id: string, limit: number): Promise<readonly MachineRow[]>;
  /** When a machine of the app was last put to sleep in the region; undefined when none was. */
  lastRound(app: string, region: string): Promise<number | undefined>;
  /** Notes that one is. False when another one was within `round_ms`, on any host. */
  beginRound(app: string, region: string, now_ms: number, round_ms: number): Promise<boolean>;
  /** Takes back `beginRound`: the machine runs on. */
  undoRound(app: string, region: string, begun_ms: number): Promise<void>;
}

const UP = "m.state IN ('running', 'starting', 'suspending')";
const SLEEPS = `(m.config LIKE '%"auto_stop_machines":"s%' OR m.config LIKE '%"autostop":%')`;

export function createIdleStore(sql: Sql, host: string): IdleStore {
  async function list(rest: string, values: readonly (string | number)[]): Promise<readonly MachineRow[]> {
    return (await sql.all<StoredMachine>(`${selectMachines} WHERE ${rest}`, values)).map(parseRow);
  }

  return {
    async listRunningSprites(after, limit) {
      const text = `SELECT m.id FROM machines m JOIN sprites s ON s.id = m.sprite_id
                    WHERE m.host = $1 AND m.state = 'running' AND s.machine_only = 0 AND m.id > $2 ORDER BY m.id LIMIT $3`;
      return (await sql.all<{ readonly id: string }>(text, [host, after, limit])).map(({ id }) => id);
    },
    listSpritesOf: (organization_id, limit) =>
      list("m.organization_id = $1 AND m.host = $2 AND m.state = 'running' AND s.machine_only = 0 LIMIT $3", [
        organization_id,
        host,
        limit,
      ]),
    listRunningInApps: (after, limit) =>
      list(
        `m.host = $1 AND m.state = 'running' AND s.machine_only = 1 AND ${SLEEPS} AND m.id > $2 ORDER BY m.id LIMIT $3`,
        [host, after, limit],
      ),
    listRunningOf: (app, region) =>
      list(`m.app = $1 AND m.region = $2 AND m.host = $3 AND ${UP} AND s.machine_only = 1`, [app, region, host]),
    async countElsewhere(app, region) {
      const text = `SELECT count(*) AS count FROM machines m JOIN sprites s ON s.id = m.sprite_id
                    WHERE m.app = $1 AND m.region = $2 AND m.host <> $3 AND ${UP} AND s.machine_only = 1`;
      return (await sql.one<{ readonly count: number }>(text, [app, region, host]))?.count ?? 0;
    },
    listWarm: (before_ms, limit) =>
      list(
        "m.host = $1 AND m.state = 'suspended' AND m.wanted <> 'destroyed' AND s.machine_only = 0 AND m.state_since <= $2 ORDER BY m.state_since LIMIT $3",
        [host, before_ms, limit],
      ),
    listWarmOf: (organization_id, limit) =>
      list(
        "m.organization_id = $1 AND m.host = $2 AND m.state = 'suspended' AND s.machine_only = 0 ORDER BY m.state_since LIMIT $3",
        [organization_id, host, limit],
      ),
    async lastRound(app, region) {
      const text = 'SELECT slept_at FROM idle_rounds WHERE app = $1 AND region = $2';
      return (await sql.one<{ readonly slept_at: number }>(text, [app, region]))?.slept_at;
    },
    async beginRound(app, region, now_ms, round_ms) {
      // A time that has not come yet is that of a clock which was wrong.
      const text = `INSERT INTO idle_rounds (app, region, slept_at) VALUES ($1, $2, $3)
                    ON CONFLICT (app, region) DO UPDATE SET slept_at = $3
                    WHERE idle_rounds.slept_at <= $4 OR idle_rounds.slept_at > $3`;
      return (await sql.run(text, [app, region, now_ms, now_ms - round_ms])) > 0;
    },
    async undoRound(app, region, begun_ms) {
      await sql.run('DELETE FROM idle_rounds WHERE app = $1 AND region = $2 AND slept_at = $3', [
        app,
        region,
        begun_ms,
      ]);
    },
  };
}
