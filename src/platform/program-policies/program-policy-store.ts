// The policies of privileges and resources of sprites: only those that a machine has confirmed.
import { type ProgramPolicy, programPolicy } from '../../contract/local/program-policy.ts';
import type { Sql } from '../storage/storage.ts';

export interface StoredProgramPolicy {
  readonly policy: ProgramPolicy;
  /** Grows with each change. */
  readonly revision: number;
}

export interface ProgramPolicyStore {
  /** Undefined when none was ever set. */
  find(sprite_id: string): Promise<StoredProgramPolicy | undefined>;
  /** False when `revision` is not that of the stored policy any more; 0 is that of a sprite without one. */
  replace(sprite_id: string, stored: StoredProgramPolicy, now_ms: number): Promise<boolean>;
}

interface Row {
  readonly policy: string;
  readonly revision: number;
}

export function createProgramPolicyStore(sql: Sql): ProgramPolicyStore {
  return {
    async find(sprite_id) {
      const row = await sql.one<Row>('SELECT policy, revision FROM program_policies WHERE sprite_id = $1', [sprite_id]);
      if (row === undefined) return undefined;
      return { policy: programPolicy.parse(JSON.parse(row.policy)), revision: Number(row.revision) };
    },
    async replace(sprite_id, { policy, revision }, now_ms) {
      const text = JSON.stringify(policy);
      const changed =
        revision === 0
          ? await sql.run(
              `INSERT INTO program_policies (sprite_id, policy, revision, updated_at) VALUES ($1, $2, 1, $3)
               ON CONFLICT (sprite_id) DO NOTHING`,
              [sprite_id, text, now_ms],
            )
          : await sql.run(
              'UPDATE program_policies SET policy = $1, revision = revision + 1, updated_at = $2 WHERE sprite_id = $3 AND revision = $4',
              [text, now_ms, sprite_id, revision],
            );
      return changed > 0;
    },
  };
}
