// The volumes of every organization, each with the machine whose configuration names it.
import type { Volume } from '../../../contract/volumes.ts';
import type { Sql } from '../../storage/storage.ts';
import { createUsageLedger } from '../../usage/usage-ledger.ts';

export type VolumeState = Volume['state'];

export interface VolumeRow {
  readonly id: string;
  readonly organization_id: string;
  readonly app: string;
  readonly name: string;
  readonly region: string;
  readonly size_gb: number;
  readonly state: VolumeState;
  /** The platform process that has its files. */
  readonly host: string | null;
  readonly machine_id: string | null;
  readonly created_at: number;
}

export type NewVolume = Omit<VolumeRow, 'state' | 'machine_id' | 'created_at'>;

export interface VolumeStore {
  insert(volume: NewVolume, now_ms: number): Promise<void>;
  find(id: string): Promise<VolumeRow | undefined>;
  /** Sorted by id. */
  list(organization_id: string, app: string): Promise<readonly VolumeRow[]>;
  listOf(organization_id: string): Promise<readonly VolumeRow[]>;
  /** Those of a host whose last move did not end. */
  listUnfinished(host: string): Promise<readonly VolumeRow[]>;
  count(organization_id: string): Promise<number>;
  /** Only inside a transaction where it ends or gets another size. False when the volume is not in the state `from`, or a machine has it and `to` is `destroying`. */
  move(id: string, from: VolumeState, to: VolumeState, now_ms: number, size_gb?: number): Promise<boolean>;
  rename(id: string, name: string, now_ms: number): Promise<void>;
  delete(id: string): Promise<void>;
  /** Makes these the volumes of the machine, and no others. */
  attach(machine_id: string, ids: readonly string[], now_ms: number): Promise<void>;
}

export function createVolumeStore(sql: Sql): VolumeStore {
  return {
    async insert({ id, organization_id, app, name, region, size_gb, host }, now_ms) {
      await sql.run(
        `INSERT INTO volumes (id, organization_id, app, name, region, size_gb, state, host, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, 'creating', $7, $8, $8)`,
        [id, organization_id, app, name, region, size_gb, host, now_ms],
      );
    },
    find: (id) => sql.one<VolumeRow>('SELECT * FROM volumes WHERE id = $1', [id]),
    list: (organization_id, app) =>
      sql.all<VolumeRow>('SELECT * FROM volumes WHERE organization_id = $1 AND app = $2 ORDER BY id', [
        organization_id,
        app,
      ]),
    listOf: (organization_id) =>
      sql.all<VolumeRow>('SELECT * FROM volumes WHERE organization_id = $1 ORDER BY id', [organization_id]),
    listUnfinished: (host) =>
      sql.all<VolumeRow>("SELECT * FROM volumes WHERE host = $1 AND state <> 'created' ORDER BY id", [host]),
    async count(organization_id) {
      const text = 'SELECT count(*) AS count FROM volumes WHERE organization_id = $1';
      return (await sql.one<{ readonly count: number }>(text, [organization_id]))?.count ?? 0;
    },
    async move(id, from, to, now_ms, size_gb) {
      const text = `UPDATE volumes SET state = $1, updated_at = $2, size_gb = CASE WHEN $3 > 0 THEN $3 ELSE size_gb END,
                      sized_at = CASE WHEN $3 > 0 THEN $2 ELSE sized_at END
                    WHERE id = $4 AND state = $5 AND ($1 <> 'destroying' OR machine_id IS NULL)`;
      const ledger = createUsageLedger(sql);
      const before = to === 'destroying' || size_gb !== undefined ? await ledger.sizeOf(id) : undefined;
      const isMoved = (await sql.run(text, [to, now_ms, size_gb ?? 0, id, from])) > 0;
      if (isMoved && before !== undefined) await ledger.endSize(before, now_ms);
      return isMoved;
    },
    async rename(id, name, now_ms) {
      await sql.run('UPDATE volumes SET name = $1, updated_at = $2 WHERE id = $3', [name, now_ms, id]);
    },
    async delete(id) {
      await sql.run('DELETE FROM volumes WHERE id = $1', [id]);
    },
    async attach(machine_id, ids, now_ms) {
      await sql.run('UPDATE volumes SET machine_id = NULL, updated_at = $2 WHERE machine_id = $1', [
        machine_id,
        now_ms,
      ]);
      for (const id of ids) {
        await sql.run('UPDATE volumes SET machine_id = $1, updated_at = $2 WHERE id = $3', [machine_id, now_ms, id]);
      }
    },
  };
}
