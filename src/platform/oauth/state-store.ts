// Authorizations that were begun and not finished: what a state stands for. Each is taken once.
import { createHash } from 'node:crypto';
import type { Sqlite } from '../../sqlite/open.ts';
import type { ClosedSecret } from '../vault/vault.ts';

/** What a state is bound to: it means nothing in another organization or at another provider. */
export interface StateKey {
  readonly organization_id: string;
  readonly provider: string;
  readonly state: string;
}

export interface PendingAuthorization {
  readonly redirect_uri: string;
  /** Separated by commas. */
  readonly scopes: string;
  /** The verifier of PKCE. */
  readonly closed: ClosedSecret;
}

export interface StateStore {
  /** False when the state is in use. Forgets what has expired. */
  insert(key: StateKey, pending: PendingAuthorization, now_ms: number, expires_at: number): boolean;
  /** Undefined for one that is unknown, was taken before, or has expired. */
  take(key: StateKey, now_ms: number): PendingAuthorization | undefined;
  /** How many an organization has begun. */
  count(organization_id: string): number;
}

interface StoredState extends ClosedSecret {
  readonly redirect_uri: string;
  readonly scopes: string;
}

export function createStateStore(db: Sqlite): StateStore {
  const insert = db.prepare<[Buffer, string, string, string, string, string, Buffer, Buffer, number]>(
    `INSERT INTO oauth_states (lookup, organization_id, provider, redirect_uri, scopes, key_id, data_key, secret, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const take = db.prepare<[Buffer, number], StoredState>(
    `DELETE FROM oauth_states WHERE lookup = ? AND expires_at > ?
     RETURNING redirect_uri, scopes, key_id, data_key, secret`,
  );
  const expire = db.prepare<[number]>('DELETE FROM oauth_states WHERE expires_at <= ?');
  const count = db.prepare<[string], { count: number }>(
    'SELECT count(*) AS count FROM oauth_states WHERE organization_id = ?',
  );
  return {
    insert(key, { redirect_uri, scopes, closed }, now_ms, expires_at) {
      expire.run(now_ms);
      const { key_id, data_key, secret } = closed;
      const { organization_id, provider } = key;
      const values = [organization_id, provider, redirect_uri, scopes, key_id, data_key, secret, expires_at] as const;
      return insert.run(toLookup(key), ...values).changes > 0;
    },
    take(key, now_ms) {
      const stored = take.get(toLookup(key), now_ms);
      if (stored === undefined) return undefined;
      const { redirect_uri, scopes, ...closed } = stored;
      return { redirect_uri, scopes, closed };
    },
    count: (organization_id) => count.get(organization_id)?.count ?? 0,
  };
}

/** Where the verifier belongs in the vault: with its state. */
export function toStatePlace(key: StateKey) {
  return { organization_id: key.organization_id, connector_id: `state:${toLookup(key).toString('hex')}` };
}

function toLookup({ organization_id, provider, state }: StateKey): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([organization_id, provider, state]))
    .digest();
}
