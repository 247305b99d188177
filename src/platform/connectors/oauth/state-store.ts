// Authorizations that were begun and not finished, by their state. A state can be used once.
import { createHash } from 'node:crypto';
import type { Storage } from '../../storage/storage.ts';
import type { SecretPlace } from '../../vault/secret-place.ts';
import type { ClosedSecret } from '../../vault/vault.ts';

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
  /**
   * `taken` when the state is in use, `full` when the organization has begun `cap` others, `full_of_token` when the token has begun
   * `tokenCap`. Deletes expired states.
   */
  insert(key: StateKey, pending: PendingAuthorization, term: StateTerm): Promise<StateVerdict>;
  /**
   * Undefined for one that is unknown, was taken before, or has expired; `other_redirect_uri` for one that began with another, which
   * stays.
   */
  consume(key: StateKey, claim: StateClaim): Promise<PendingAuthorization | 'other_redirect_uri' | undefined>;
}

export type StateVerdict = 'stored' | 'taken' | 'full' | 'full_of_token';

export interface StateClaim {
  /** The redirect URI that the caller names; undefined when it names none. */
  readonly redirect_uri: string | undefined;
  readonly now_ms: number;
}

export interface StateTerm {
  /** The token that begins it. */
  readonly token_id: string;
  readonly now_ms: number;
  readonly expires_at: number;
  readonly cap: number;
  readonly tokenCap: number;
}

interface StoredState extends ClosedSecret {
  readonly redirect_uri: string;
  readonly scopes: string;
}

const insert = `
INSERT INTO oauth_states (lookup, organization_id, provider, redirect_uri, scopes, key_id, data_key, secret, expires_at,
                          token_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`;

const begun = `
SELECT count(*) AS of_organization, count(*) FILTER (WHERE token_id = $2) AS of_token
FROM oauth_states WHERE organization_id = $1`;

const live = 'FROM oauth_states WHERE lookup = $1 AND expires_at > $2';
const consumeState = `DELETE ${live} AND redirect_uri = $3 RETURNING redirect_uri, scopes, key_id, data_key, secret`;

export function createStateStore(storage: Pick<Storage, 'one' | 'transaction'>): StateStore {
  return {
    insert: (key, { redirect_uri, scopes, closed }, { token_id, now_ms, expires_at, cap, tokenCap }) =>
      storage.transaction(async (sql) => {
        await sql.run('DELETE FROM oauth_states WHERE expires_at <= $1', [now_ms]);
        const { organization_id, provider } = key;
        const counts = await sql.one<{ of_organization: number; of_token: number }>(begun, [organization_id, token_id]);
        if ((counts?.of_token ?? 0) >= tokenCap) return 'full_of_token';
        if ((counts?.of_organization ?? 0) >= cap) return 'full';
        const { key_id, data_key, secret } = closed;
        const values = [
          organization_id,
          provider,
          redirect_uri,
          scopes,
          key_id,
          data_key,
          secret,
          expires_at,
          token_id,
        ];
        return (await sql.run(insert, [toLookup(key), ...values])) > 0 ? 'stored' : 'taken';
      }, `states of ${key.organization_id}`),
    async consume(key, { redirect_uri, now_ms }) {
      const which = [toLookup(key), now_ms];
      const known = await storage.one<{ redirect_uri: string }>(`SELECT redirect_uri ${live}`, which);
      if (known === undefined) return undefined;
      if (redirect_uri !== undefined && redirect_uri !== known.redirect_uri) return 'other_redirect_uri';
      const stored = await storage.one<StoredState>(consumeState, [...which, known.redirect_uri]);
      if (stored === undefined) return undefined;
      const { redirect_uri: begunWith, scopes, ...closed } = stored;
      return { redirect_uri: begunWith, scopes, closed };
    },
  };
}

/** Where the verifier belongs in the vault: with its state, and with what the authorization began with. */
export function toStatePlace(
  key: StateKey,
  pending: Pick<PendingAuthorization, 'redirect_uri' | 'scopes'>,
): SecretPlace {
  const { redirect_uri, scopes } = pending;
  const bound = [redirect_uri, scopes];
  return { kind: 'authorization', organization_id: key.organization_id, id: toLookup(key).toString('hex'), bound };
}

function toLookup({ organization_id, provider, state }: StateKey): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([organization_id, provider, state]))
    .digest();
}
