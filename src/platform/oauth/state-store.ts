// Authorizations that were begun and not finished: what a state stands for. Each is taken once.
import { createHash } from 'node:crypto';
import type { Storage } from '../storage/storage.ts';
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
  /** `taken` when the state is in use, `full` when the organization has begun `cap` others. Forgets what has expired. */
  insert(key: StateKey, pending: PendingAuthorization, term: StateTerm): Promise<'stored' | 'taken' | 'full'>;
  /** Undefined for one that is unknown, was taken before, or has expired. */
  take(key: StateKey, now_ms: number): Promise<PendingAuthorization | undefined>;
}

export interface StateTerm {
  readonly now_ms: number;
  readonly expires_at: number;
  readonly cap: number;
}

interface StoredState extends ClosedSecret {
  readonly redirect_uri: string;
  readonly scopes: string;
}

const insert = `
INSERT INTO oauth_states (lookup, organization_id, provider, redirect_uri, scopes, key_id, data_key, secret, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`;

const take = `
DELETE FROM oauth_states WHERE lookup = $1 AND expires_at > $2
RETURNING redirect_uri, scopes, key_id, data_key, secret`;

export function createStateStore(storage: Pick<Storage, 'one' | 'transaction'>): StateStore {
  return {
    insert: (key, { redirect_uri, scopes, closed }, { now_ms, expires_at, cap }) =>
      storage.transaction(async (sql) => {
        await sql.run('DELETE FROM oauth_states WHERE expires_at <= $1', [now_ms]);
        const { organization_id, provider } = key;
        const begun = await sql.one<{ count: number }>(
          'SELECT count(*) AS count FROM oauth_states WHERE organization_id = $1',
          [organization_id],
        );
        if ((begun?.count ?? 0) >= cap) return 'full';
        const { key_id, data_key, secret } = closed;
        const values = [organization_id, provider, redirect_uri, scopes, key_id, data_key, secret, expires_at];
        return (await sql.run(insert, [toLookup(key), ...values])) > 0 ? 'stored' : 'taken';
      }, `states of ${key.organization_id}`),
    async take(key, now_ms) {
      const stored = await storage.one<StoredState>(take, [toLookup(key), now_ms]);
      if (stored === undefined) return undefined;
      const { redirect_uri, scopes, ...closed } = stored;
      return { redirect_uri, scopes, closed };
    },
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
