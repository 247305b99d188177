// The current incarnation of each machine: the one that is served.
import type { MachineIncarnation } from '../../contract/resume-reports.ts';
import type { Sql } from '../storage/storage.ts';
import {
  type IncarnationNonces,
  type KnownIncarnation,
  parseKnownIncarnation,
  toStoredNonces,
} from './known-incarnation.ts';

/** What a report is judged by besides the incarnation. */
export interface IncarnationRecord {
  /** Undefined when no incarnation is known. */
  readonly known: KnownIncarnation | undefined;
  /** The operator lets the next other machine that reports take over. */
  readonly isAdopting: boolean;
  /** Unix milliseconds of the last take-over by a new installation. */
  readonly taken_over_at: number | null;
}

export interface IncarnationStore {
  /** Undefined when the sprite has no machine. */
  load(sprite_id: string): Promise<IncarnationRecord | undefined>;
  /** False when an incarnation at least as new is known already, or there is no machine. */
  replace(sprite_id: string, incarnation: KnownIncarnation): Promise<boolean>;
  /** False when the recorded incarnation or its nonces have changed. */
  setNonces(sprite_id: string, known: KnownIncarnation, nonces: IncarnationNonces): Promise<boolean>;
  /** Another machine replaces the one whose incarnation is `known`. False when the recorded incarnation is no longer `known`. */
  takeOver(sprite_id: string, known: KnownIncarnation, next: KnownIncarnation, now_ms: number): Promise<boolean>;
  /** Lets the next other machine that reports take over, however soon after the last take-over. */
  adopt(sprite_id: string): Promise<void>;
  /** Forgets the incarnation of a machine that boots: the next one that calls becomes the current one. */
  forget(sprite_id: string): Promise<void>;
  /** Whether more than one machine has an incarnation that is known. */
  hasSeveral(): Promise<boolean>;
}

interface Stored extends MachineIncarnation {
  readonly nonces: string | null;
  readonly adopting: number;
  readonly taken_over_at: number | null;
}

/** A sprite has one machine; the record is deleted with it. */
export function createIncarnationStore(sql: Sql): IncarnationStore {
  return {
    async load(sprite_id) {
      const text = `SELECT generation, incarnation, life_nonces AS nonces, adopting, taken_over_at
                    FROM machines WHERE sprite_id = $1`;
      const found = await sql.one<Stored>(text, [sprite_id]);
      if (found === undefined) return undefined;
      const { adopting, taken_over_at } = found;
      return { known: parseKnownIncarnation(found), isAdopting: adopting === 1, taken_over_at };
    },
    async replace(sprite_id, { generation, incarnation, nonces }) {
      const changed = await sql.run(
        `UPDATE machines SET generation = $1, incarnation = $2, life_nonces = $3
         WHERE sprite_id = $4 AND (generation IS NULL OR generation < $1)`,
        [generation, incarnation, toStoredNonces(nonces), sprite_id],
      );
      return changed > 0;
    },
    async setNonces(sprite_id, { generation, incarnation, nonces }, next) {
      const changed = await sql.run(
        `UPDATE machines SET life_nonces = $1
         WHERE sprite_id = $2 AND generation = $3 AND incarnation = $4 AND COALESCE(life_nonces, '') = $5`,
        [toStoredNonces(next), sprite_id, generation, incarnation, toStoredNonces(nonces) ?? ''],
      );
      return changed > 0;
    },
    async takeOver(sprite_id, known, { generation, incarnation, nonces }, now_ms) {
      const changed = await sql.run(
        `UPDATE machines SET generation = $1, incarnation = $2, life_nonces = $3, taken_over_at = $4, adopting = 0
         WHERE sprite_id = $5 AND generation = $6 AND incarnation = $7`,
        [generation, incarnation, toStoredNonces(nonces), now_ms, sprite_id, known.generation, known.incarnation],
      );
      return changed > 0;
    },
    async adopt(sprite_id) {
      await sql.run('UPDATE machines SET adopting = 1, taken_over_at = NULL WHERE sprite_id = $1', [sprite_id]);
    },
    async forget(sprite_id) {
      const text = `UPDATE machines SET generation = NULL, incarnation = NULL, life_nonces = NULL, adopting = 0
                    WHERE sprite_id = $1`;
      await sql.run(text, [sprite_id]);
    },
    async hasSeveral() {
      return (await sql.all('SELECT 1 FROM machines WHERE generation IS NOT NULL LIMIT 2')).length > 1;
    },
  };
}
