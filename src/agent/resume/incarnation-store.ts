// The incarnation of the machine on disk: one row holds all that is known of it, so that no part is ever stored without the others.
import { machineIncarnation } from '../../contract/resume-reports.ts';
import { Secret } from '../../core/secret.ts';
import type { Sqlite } from '../../sqlite/open.ts';
import type { IncarnationStore, KeptIncarnation } from './incarnation.ts';

export const incarnationSchema = `
  CREATE TABLE life (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    generation INTEGER NOT NULL,
    incarnation TEXT NOT NULL
  ) STRICT`;

/** An incarnation that was stored before reports were answered with a nonce counts as known to a platform. */
export const incarnationNonceSchema = `
  ALTER TABLE life ADD COLUMN nonce TEXT;
  ALTER TABLE life ADD COLUMN is_known INTEGER NOT NULL DEFAULT 1`;

interface Row {
  readonly nonce: string | null;
  readonly is_known: number;
}

/** A write that fails goes to `onProblem` and is not thrown: a full disk must not stop a resume. */
export function createIncarnationStore(db: Sqlite, onProblem: (error: unknown) => void): IncarnationStore {
  const select = db.prepare<[], Row>('SELECT generation, incarnation, nonce, is_known FROM life');
  const upsert = db.prepare<[number, string, string | null, number]>(
    `INSERT INTO life (only, generation, incarnation, nonce, is_known) VALUES (1, ?, ?, ?, ?)
     ON CONFLICT (only) DO UPDATE SET generation = excluded.generation, incarnation = excluded.incarnation,
       nonce = excluded.nonce, is_known = excluded.is_known`,
  );
  return {
    load(): KeptIncarnation | undefined {
      const row = select.get();
      const known = machineIncarnation.safeParse(row).data;
      if (row === undefined || known === undefined) return undefined;
      return { ...known, nonce: row.nonce === null ? undefined : new Secret(row.nonce), isKnown: row.is_known === 1 };
    },
    save({ generation, incarnation, nonce, isKnown }) {
      try {
        upsert.run(generation, incarnation, nonce?.reveal() ?? null, isKnown ? 1 : 0);
      } catch (error) {
        onProblem(error);
      }
    },
  };
}
