// Keeps the policies in the agent's database, so that a restart works without the platform. An entry that cannot be read counts
// as absent.
import type { Sqlite } from '../../../sqlite/open.ts';
import { type PolicyDocument, policyDocument } from './policy-snapshot.ts';

export interface CachedPolicies {
  readonly document: PolicyDocument;
  /** Unix milliseconds. */
  readonly fetched_at_ms: number;
}

export interface PolicyCache {
  load(): CachedPolicies | undefined;
  /** Throws when the database cannot be written. */
  save(cached: CachedPolicies): void;
}

interface Row {
  readonly fetched_at: number;
  readonly document: string;
}

/** `source` names platform, sprite and credential; policies fetched from another source are not used. */
export function createPolicyCache(db: Sqlite, source: string): PolicyCache {
  return {
    load() {
      try {
        const row = db
          .prepare<[string], Row>('SELECT fetched_at, document FROM gateway_policy WHERE id = 1 AND source = ?')
          .get(source);
        if (row === undefined) return undefined;
        return { document: policyDocument.parse(JSON.parse(row.document)), fetched_at_ms: row.fetched_at };
      } catch {
        return undefined;
      }
    },
    save({ document, fetched_at_ms }) {
      db.prepare(
        `INSERT INTO gateway_policy (id, source, fetched_at, document) VALUES (1, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET source = excluded.source, fetched_at = excluded.fetched_at,
           document = excluded.document`,
      ).run(source, fetched_at_ms, JSON.stringify(document));
    },
  };
}
