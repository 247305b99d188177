// The life of each machine that counts.
import { type MachineLife, machineLife } from '../../contract/resume-reports.ts';
import type { Sql } from '../storage/storage.ts';

export interface LifeStore {
  load(sprite_id: string): Promise<MachineLife | undefined>;
  /** False when a life that is as new is known by now, or there is no machine. */
  replace(sprite_id: string, life: MachineLife): Promise<boolean>;
  /** The machine boots anew: the next life that calls is the one that counts. */
  forget(sprite_id: string): Promise<void>;
  /** Whether more than one machine has a life that is known. */
  hasSeveral(): Promise<boolean>;
}

/** A sprite has one machine; the record goes with it. */
export function createLifeStore(sql: Sql): LifeStore {
  return {
    async load(sprite_id) {
      return parseLife(await sql.one('SELECT generation, incarnation FROM machines WHERE sprite_id = $1', [sprite_id]));
    },
    async replace(sprite_id, { generation, incarnation }) {
      const changed = await sql.run(
        `UPDATE machines SET generation = $1, incarnation = $2
         WHERE sprite_id = $3 AND (generation IS NULL OR generation < $1)`,
        [generation, incarnation, sprite_id],
      );
      return changed > 0;
    },
    async forget(sprite_id) {
      await sql.run('UPDATE machines SET generation = NULL, incarnation = NULL WHERE sprite_id = $1', [sprite_id]);
    },
    async hasSeveral() {
      return (await sql.all('SELECT 1 FROM machines WHERE generation IS NOT NULL LIMIT 2')).length > 1;
    },
  };
}

/** Undefined for a machine that has not said which life it is in. */
export function parseLife(stored: unknown): MachineLife | undefined {
  return machineLife.safeParse(stored).data;
}
