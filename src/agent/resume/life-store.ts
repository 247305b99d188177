// The life of the machine on disk: generation and incarnation in one row, so that neither is ever kept without the other.
import { type MachineLife, machineLife } from '../../contract/resume-reports.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { LifeStore } from './life.ts';

export const lifeSchema = `
  CREATE TABLE life (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    generation INTEGER NOT NULL,
    incarnation TEXT NOT NULL
  ) STRICT`;

/** A write that fails is told through `onProblem` and not thrown: a full disk must not stop a resume. */
export function createLifeStore(db: Sqlite, onProblem: (error: unknown) => void): LifeStore {
  const select = db.prepare<[]>('SELECT generation, incarnation FROM life');
  const upsert = db.prepare<[number, string]>(
    `INSERT INTO life VALUES (1, ?, ?)
     ON CONFLICT (only) DO UPDATE SET generation = excluded.generation, incarnation = excluded.incarnation`,
  );
  return {
    load: (): MachineLife | undefined => machineLife.safeParse(select.get()).data,
    save({ generation, incarnation }) {
      try {
        upsert.run(generation, incarnation);
      } catch (error) {
        onProblem(error);
      }
    },
  };
}
