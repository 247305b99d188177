// The life of each machine that counts, as it was known last.
import { type MachineLife, machineLife } from '../../contract/resume-reports.ts';
import type { Sqlite } from '../../sqlite/open.ts';

export interface LifeStore {
  load(sprite_id: string): MachineLife | undefined;
  save(sprite_id: string, life: MachineLife | undefined): void;
  /** Whether more than one machine has a life that is known. */
  hasSeveral(): boolean;
}

/** A sprite has one machine; the record goes with it. */
export function createLifeStore(db: Sqlite): LifeStore {
  const select = db.prepare<[string]>('SELECT generation, incarnation FROM machines WHERE sprite_id = ?');
  const update = db.prepare<[number | null, string | null, string]>(
    'UPDATE machines SET generation = ?, incarnation = ? WHERE sprite_id = ?',
  );
  const two = db.prepare<[]>('SELECT 1 FROM machines WHERE generation IS NOT NULL LIMIT 2');
  return {
    load: (sprite_id) => machineLife.safeParse(select.get(sprite_id)).data,
    save(sprite_id, life) {
      update.run(life?.generation ?? null, life?.incarnation ?? null, sprite_id);
    },
    hasSeveral: () => two.all().length > 1,
  };
}
