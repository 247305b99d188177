// How long machines were in each state and what volumes took, by day. A time is added when it ends, in the transaction that ends it; what goes on
// is counted when somebody asks, so that nothing is written meanwhile and nothing is lost at a crash.
import { nextSlice } from '../../core/next-slice.ts';
import type { Sql } from '../storage/storage.ts';
import { DAY_MS, toDaySpans } from './usage-days.ts';

export interface MachineUsageRow {
  readonly day: string;
  readonly app: string;
  readonly state: string;
  readonly ms: number;
}

export interface VolumeUsageRow {
  readonly day: string;
  readonly app: string;
  /** Gigabytes times milliseconds. */
  readonly gb_ms: number;
}

export interface UsageQuery {
  readonly organization_id: string;
  /** First and last day. */
  readonly since: string;
  readonly until: string;
  readonly now_ms: number;
}

export interface UsageLedger {
  /** What the machine is in, since when; to be read before it changes. */
  stateOf(machine_id: string): Promise<GoingUse | undefined>;
  /** The size of the volume, since when; undefined while it takes no room. */
  sizeOf(volume_id: string): Promise<GoingUse | undefined>;
  /** Adds a state that has ended now. */
  endState(ended: GoingUse, now_ms: number): Promise<void>;
  /** Adds a size that has ended now. */
  endSize(ended: GoingUse, now_ms: number): Promise<void>;
  /** What the machines have used, by day, app and state. */
  listMachines(query: UsageQuery): Promise<readonly MachineUsageRow[]>;
  /** What the volumes have used, by day and app. */
  listVolumes(query: UsageQuery): Promise<readonly VolumeUsageRow[]>;
}

/** What a machine or a volume uses now. */
export interface GoingUse {
  readonly id: string;
  readonly organization_id: string;
  readonly app: string;
  readonly state: string;
  readonly since: number;
  readonly size_gb: number;
}

const PAGE = 500;
const machine = `SELECT id, organization_id, app, state, 0 AS size_gb,
  CASE WHEN state_since > created_at THEN state_since ELSE created_at END AS since FROM machines`;
const volume = `SELECT id, organization_id, app, state, size_gb,
  CASE WHEN sized_at > created_at THEN sized_at ELSE created_at END AS since FROM volumes`;
const TAKES_ROOM = "state IN ('created', 'extending')";

/** `sql` is that of a transaction where something ends. */
export function createUsageLedger(sql: Sql): UsageLedger {
  /** Sums what of one kind has ended in these days in one organization, and what goes on. */
  async function list({ organization_id, since, until, now_ms }: UsageQuery, ended: string, going: string) {
    const sums = new Map<string, { readonly day: string; readonly app: string; readonly state: string; ms: number }>();
    const add = (day: string, app: string, state: string, ms: number) => {
      const key = JSON.stringify([day, app, state]);
      const sum = sums.get(key) ?? { day, app, state, ms: 0 };
      sum.ms += ms;
      sums.set(key, sum);
    };
    const rows = await sql.all<MachineUsageRow>(ended, [organization_id, since, until]);
    for (const { day, app, state, ms } of rows) add(day, app, state, ms);
    const [first, last] = [Date.parse(since), Math.min(now_ms, Date.parse(until) + DAY_MS)];
    let after = '';
    for (;;) {
      const page = await sql.all<GoingUse>(going, [organization_id, after]);
      for (const { app, state, since: from, size_gb } of page) {
        for (const { day, ms } of toDaySpans(Math.max(from, first), last)) add(day, app, state, ms * (size_gb || 1));
      }
      if (page.length < PAGE) break;
      after = page.at(-1)?.id ?? '';
      await nextSlice();
    }
    return [...sums.values()].sort((one, other) => (toOrder(one) < toOrder(other) ? -1 : 1));
  }

  return {
    stateOf: (machine_id) => sql.one<GoingUse>(`${machine} WHERE id = $1`, [machine_id]),
    sizeOf: (volume_id) => sql.one<GoingUse>(`${volume} WHERE id = $1 AND ${TAKES_ROOM}`, [volume_id]),
    async endState({ organization_id, app, state, since }, now_ms) {
      for (const { day, ms } of toDaySpans(since, now_ms)) {
        await sql.run(
          `INSERT INTO machine_usage (organization_id, day, app, state, ms) VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (organization_id, day, app, state) DO UPDATE SET ms = machine_usage.ms + excluded.ms`,
          [organization_id, day, app, state, ms],
        );
      }
    },
    async endSize({ organization_id, app, size_gb, since }, now_ms) {
      for (const { day, ms } of toDaySpans(since, now_ms)) {
        await sql.run(
          `INSERT INTO volume_usage (organization_id, day, app, gb_ms) VALUES ($1, $2, $3, $4)
           ON CONFLICT (organization_id, day, app) DO UPDATE SET gb_ms = volume_usage.gb_ms + excluded.gb_ms`,
          [organization_id, day, app, ms * size_gb],
        );
      }
    },
    listMachines: (query) =>
      list(
        query,
        'SELECT day, app, state, ms FROM machine_usage WHERE organization_id = $1 AND day >= $2 AND day <= $3',
        `${machine} WHERE organization_id = $1 AND id > $2 ORDER BY id LIMIT ${PAGE}`,
      ),
    async listVolumes(query) {
      const rows = await list(
        query,
        `SELECT day, app, 'created' AS state, gb_ms AS ms FROM volume_usage
         WHERE organization_id = $1 AND day >= $2 AND day <= $3`,
        `${volume} WHERE organization_id = $1 AND id > $2 AND ${TAKES_ROOM} ORDER BY id LIMIT ${PAGE}`,
      );
      const sums = Map.groupBy(rows, ({ day, app }) => JSON.stringify([day, app]));
      return [...sums.values()].flatMap((of) => {
        const [one] = of;
        if (one === undefined) return [];
        return [{ day: one.day, app: one.app, gb_ms: of.reduce((sum, { ms }) => sum + ms, 0) }];
      });
    },
  };
}

function toOrder({ day, app, state }: Omit<MachineUsageRow, 'ms'>): string {
  return `${day} ${app} ${state}`;
}
