// The network policies of sprites: only those that a machine has confirmed.
import { type NetworkPolicyRule, networkPolicyRequest } from '../../contract/network-policy.ts';
import type { Sql } from '../storage/storage.ts';

export interface StoredNetworkPolicy {
  readonly rules: readonly NetworkPolicyRule[];
  /** Grows with each change. */
  readonly revision: number;
}

export interface NetworkPolicyStore {
  /** Undefined when none was ever set. */
  find(sprite_id: string): Promise<StoredNetworkPolicy | undefined>;
  /** False when `revision` is not that of the stored policy any more; 0 is that of a sprite without one. */
  replace(sprite_id: string, policy: StoredNetworkPolicy, now_ms: number): Promise<boolean>;
}

interface Row {
  readonly rules: string;
  readonly revision: number;
}

export function createNetworkPolicyStore(sql: Sql): NetworkPolicyStore {
  return {
    async find(sprite_id) {
      const row = await sql.one<Row>('SELECT rules, revision FROM network_policies WHERE sprite_id = $1', [sprite_id]);
      if (row === undefined) return undefined;
      const { rules } = networkPolicyRequest.parse({ rules: JSON.parse(row.rules) });
      return { rules, revision: Number(row.revision) };
    },
    async replace(sprite_id, { rules, revision }, now_ms) {
      const text = JSON.stringify(rules);
      const changed =
        revision === 0
          ? await sql.run(
              `INSERT INTO network_policies (sprite_id, rules, revision, updated_at) VALUES ($1, $2, 1, $3)
               ON CONFLICT (sprite_id) DO NOTHING`,
              [sprite_id, text, now_ms],
            )
          : await sql.run(
              'UPDATE network_policies SET rules = $1, revision = revision + 1, updated_at = $2 WHERE sprite_id = $3 AND revision = $4',
              [text, now_ms, sprite_id, revision],
            );
      return changed > 0;
    },
  };
}
