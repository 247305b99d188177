// Keeps the policies in the agent's database, so that a restart works without the platform. An entry that cannot be read counts
// as absent.
import { createHash } from 'node:crypto';
import type { Secret } from '../../../core/secret.ts';
import type { Sqlite } from '../../../sqlite/open.ts';
import { type PolicyDocument, policyDocument } from './policy-snapshot.ts';

export interface StoredPolicies {
  readonly document: PolicyDocument;
  /** Unix milliseconds. */
  readonly fetched_at_ms: number;
}

export interface PolicyStore {
  load(): StoredPolicies | undefined;
  /** Throws when the database cannot be written. */
  save(stored: StoredPolicies): void;
}

interface Row {
  readonly fetched_at: number;
  readonly document: string;
}

/** What the policies belong to. */
export interface PolicyOwner {
  readonly baseUrl: string;
  readonly sprite: string;
  readonly token: Secret;
}

/** Policies that were fetched for another owner are not used. */
export function createPolicyStore(db: Sqlite, owner: PolicyOwner): PolicyStore {
  const source = toSource(owner);
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

/** Names platform, sprite and credential without giving the credential away. */
function toSource({ baseUrl, sprite, token }: PolicyOwner): string {
  return createHash('sha256').update(`${baseUrl}\n${sprite}\n${token.reveal()}`).digest('hex');
}
