// The records of machines that were deleted, as they were last, for clients that list them too.
import { type Machine, machine } from '../../../contract/machines.ts';
import type { Sql } from '../../storage/storage.ts';

export interface DestroyedMachine {
  readonly organization_id: string;
  readonly app: string;
  readonly record: Machine;
}

export interface DestroyedMachines {
  add(destroyed: DestroyedMachine, now_ms: number): Promise<void>;
  /** Sorted by id; the first `limit` after `after`. */
  list(
    organization_id: string,
    app: string,
    page: { readonly after: string; readonly limit: number },
  ): Promise<Machine[]>;
}

const KEPT_MS = 48 * 3_600_000;

export function createDestroyedMachines(sql: Sql): DestroyedMachines {
  return {
    async add({ organization_id, app, record }, now_ms) {
      await sql.run('DELETE FROM destroyed_machines WHERE destroyed_at < $1', [now_ms - KEPT_MS]);
      await sql.run(
        `INSERT INTO destroyed_machines (id, organization_id, app, record, destroyed_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (id) DO NOTHING`,
        [record.id, organization_id, app, JSON.stringify(record), now_ms],
      );
    },
    async list(organization_id, app, { after, limit }) {
      const text = `SELECT record FROM destroyed_machines WHERE organization_id = $1 AND app = $2 AND id > $3
                    ORDER BY id LIMIT $4`;
      const rows = await sql.all<{ readonly record: string }>(text, [organization_id, app, after, limit]);
      return rows.flatMap(({ record }) => {
        const parsed = machine.safeParse(parseJson(record));
        return parsed.success ? [parsed.data] : [];
      });
    },
  };
}

/** A damaged record is left out. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
