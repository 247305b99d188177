// Sign-ons: each begins with an authorization code and has the tokens that came of it. What ends a sign-on deletes it with all of them.
import { randomHex } from '../../core/urandom.ts';
import type { Sql } from '../storage/storage.ts';

export interface SignOn {
  readonly id: string;
  readonly client_id: string;
  readonly user_id: string;
  /** The only organization that it shows; null = all of the user. */
  readonly organization_id: string | null;
  readonly redirect_uri: string;
  /** S256; null where the client sent none. */
  readonly code_challenge: string | null;
  readonly created_at: number;
  /** When its code was exchanged; null before. */
  readonly exchanged_at: number | null;
}

export type NewSignOn = Omit<SignOn, 'id' | 'exchanged_at'> & {
  readonly code_hash: string;
  /** When the row may be forgotten, unless a token makes it last longer. */
  readonly expires_at: number;
};

export interface SignOnToken {
  readonly access_hash: string;
  readonly refresh_hash: string;
  readonly created_at: number;
  readonly access_expires_at: number;
  readonly refresh_expires_at: number;
}

export interface FoundToken extends SignOnToken {
  readonly sign_on: SignOn;
  /** When its refresh token was used; null before. */
  readonly refreshed_at: number | null;
}

export interface SignOnStore {
  create(signOn: NewSignOn): Promise<void>;
  findByCode(code_hash: string): Promise<SignOn | undefined>;
  /** False when the code was exchanged before, or the sign-on has ended. */
  markExchanged(id: string, now_ms: number): Promise<boolean>;
  /** False when the sign-on has ended. */
  addToken(id: string, token: SignOnToken): Promise<boolean>;
  findByAccess(access_hash: string): Promise<FoundToken | undefined>;
  findByRefresh(refresh_hash: string): Promise<FoundToken | undefined>;
  /** False when the refresh token was used before, or the sign-on has ended. */
  markRefreshed(refresh_hash: string, now_ms: number): Promise<boolean>;
  end(id: string): Promise<void>;
  /** Deletes some of what has expired: no more than the event loop can spare. */
  forgetExpired(now_ms: number): Promise<void>;
  /** The ids of the organizations in which the user lets the provider know them. */
  listConsents(user_id: string, provider: string): Promise<ReadonlySet<string>>;
  /** The user is a member of each. A consent ends with the membership, and with the provider. */
  addConsents(user_id: string, provider: string, organization_ids: readonly string[], now_ms: number): Promise<void>;
  /** Whether a member of the organization lets the provider know them there. */
  hasConsentIn(organization_id: string, provider: string): Promise<boolean>;
}

/** Refresh tokens that were used are kept to notice a second use; a provider that refreshes in a loop does not fill the table. */
const TOKENS_KEPT = 20;
const FORGOTTEN_AT_ONCE = 200;
const signOnColumns = ['id', 'client_id', 'user_id', 'organization_id', 'redirect_uri', 'code_challenge', 'created_at'];
const columns = [...signOnColumns, 'exchanged_at'].map((name) => `s.${name}`).join(', ');
const tokenColumns = `t.access_hash, t.refresh_hash, t.created_at AS token_created_at, t.access_expires_at,
  t.refresh_expires_at, t.refreshed_at`;

type TokenRow = SignOn & Omit<FoundToken, 'sign_on'> & { readonly token_created_at: number };

export function createSignOnStore(sql: Sql): SignOnStore {
  async function findToken(column: 'access_hash' | 'refresh_hash', hash: string): Promise<FoundToken | undefined> {
    const row = await sql.one<TokenRow>(
      `SELECT ${columns}, ${tokenColumns} FROM sign_on_tokens t JOIN sign_ons s ON s.id = t.sign_on_id
       WHERE t.${column} = $1`,
      [hash],
    );
    if (row === undefined) return undefined;
    const { access_hash, refresh_hash, token_created_at, access_expires_at, refresh_expires_at, refreshed_at } = row;
    const { id, client_id, user_id, organization_id, redirect_uri, code_challenge, created_at, exchanged_at } = row;
    return {
      sign_on: { id, client_id, user_id, organization_id, redirect_uri, code_challenge, created_at, exchanged_at },
      access_hash,
      refresh_hash,
      created_at: token_created_at,
      access_expires_at,
      refresh_expires_at,
      refreshed_at,
    };
  }

  return {
    async create({
      client_id,
      user_id,
      organization_id,
      redirect_uri,
      code_challenge,
      created_at,
      code_hash,
      ...more
    }) {
      const given = [client_id, user_id, organization_id, redirect_uri, code_challenge, created_at];
      await sql.run(
        `INSERT INTO sign_ons (${signOnColumns.join(', ')}, code_hash, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
        [`son_${randomHex(10)}`, ...given, code_hash, more.expires_at],
      );
    },
    findByCode: (code_hash) => sql.one<SignOn>(`SELECT ${columns} FROM sign_ons s WHERE s.code_hash = $1`, [code_hash]),
    async markExchanged(id, now_ms) {
      const text = 'UPDATE sign_ons SET exchanged_at = $1 WHERE id = $2 AND exchanged_at IS NULL';
      return (await sql.run(text, [now_ms, id])) > 0;
    },
    async addToken(id, { access_hash, refresh_hash, created_at, access_expires_at, refresh_expires_at }) {
      const kept = await sql.run('UPDATE sign_ons SET expires_at = $1 WHERE id = $2', [refresh_expires_at, id]);
      if (kept === 0) return false;
      const values = [access_hash, refresh_hash, id, created_at, access_expires_at, refresh_expires_at];
      const made = await sql.run(
        `INSERT INTO sign_on_tokens
           (access_hash, refresh_hash, sign_on_id, created_at, access_expires_at, refresh_expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)`,
        values,
      );
      await sql.run(
        `DELETE FROM sign_on_tokens WHERE sign_on_id = $1 AND access_hash NOT IN
           (SELECT access_hash FROM sign_on_tokens WHERE sign_on_id = $1 ORDER BY created_at DESC, access_hash LIMIT $2)`,
        [id, TOKENS_KEPT],
      );
      return made > 0;
    },
    findByAccess: (access_hash) => findToken('access_hash', access_hash),
    findByRefresh: (refresh_hash) => findToken('refresh_hash', refresh_hash),
    async markRefreshed(refresh_hash, now_ms) {
      const text = 'UPDATE sign_on_tokens SET refreshed_at = $1 WHERE refresh_hash = $2 AND refreshed_at IS NULL';
      return (await sql.run(text, [now_ms, refresh_hash])) > 0;
    },
    async end(id) {
      await sql.run('DELETE FROM sign_ons WHERE id = $1', [id]);
    },
    async forgetExpired(now_ms) {
      await sql.run('DELETE FROM sign_ons WHERE id IN (SELECT id FROM sign_ons WHERE expires_at < $1 LIMIT $2)', [
        now_ms,
        FORGOTTEN_AT_ONCE,
      ]);
      await sql.run(
        `DELETE FROM sign_on_tokens WHERE access_hash IN
           (SELECT access_hash FROM sign_on_tokens WHERE refresh_expires_at < $1 LIMIT $2)`,
        [now_ms, FORGOTTEN_AT_ONCE],
      );
    },
    async listConsents(user_id, provider) {
      const text = 'SELECT organization_id FROM sign_on_consents WHERE user_id = $1 AND provider = $2';
      const rows = await sql.all<{ organization_id: string }>(text, [user_id, provider]);
      return new Set(rows.map(({ organization_id }) => organization_id));
    },
    async addConsents(user_id, provider, organization_ids, now_ms) {
      for (const organization_id of organization_ids) {
        await sql.run(
          `INSERT INTO sign_on_consents (user_id, provider, organization_id, created_at)
           SELECT m.user_id, p.name, m.organization_id, CAST($4 AS BIGINT) FROM members m, extension_providers p
           WHERE m.user_id = $1 AND p.name = $2 AND m.organization_id = $3 ON CONFLICT DO NOTHING`,
          [user_id, provider, organization_id, now_ms],
        );
      }
    },
    async hasConsentIn(organization_id, provider) {
      const text = 'SELECT 1 AS one FROM sign_on_consents WHERE organization_id = $1 AND provider = $2';
      return (await sql.one(text, [organization_id, provider])) !== undefined;
    },
  };
}

/** Ends the sign-ons of a user who is in no organization any more. Those for one organization end with the membership in it. */
export async function endSignOnsWithoutMembership(sql: Sql, user_id: string): Promise<void> {
  await sql.run(
    'DELETE FROM sign_ons WHERE user_id = $1 AND NOT EXISTS (SELECT 1 FROM members m WHERE m.user_id = $1)',
    [user_id],
  );
}

/** Ends everything that was begun with the password of a user: the sessions in browsers, and the sign-ons. */
export async function endSignOnsOf(sql: Sql, user_id: string): Promise<void> {
  await sql.run('DELETE FROM sign_ons WHERE user_id = $1', [user_id]);
  await sql.run('DELETE FROM sign_on_sessions WHERE user_id = $1', [user_id]);
}
