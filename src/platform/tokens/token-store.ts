// Bearer tokens. Only their SHA-256 is kept: the text is shown once, when a token is made.
import { createHash } from 'node:crypto';
import { Secret } from '../../core/secret.ts';
import { randomHex, randomToken } from '../../core/urandom.ts';
import type { Sql } from '../storage/storage.ts';

/** `full`: whatever its owner may do. `read`: what changes nothing, and no calls through the gateway. */
export type TokenAccess = 'full' | 'read';

/** Whom a token stands for: a whole organization, or one sprite of it. */
export interface TokenOwner {
  readonly organization_id: string;
  readonly sprite_id: string | null;
}

export interface TokenRow extends TokenOwner {
  readonly id: string;
  readonly access: TokenAccess;
  readonly name: string | null;
  /** The person that it was made for; connectors made with it name them. */
  readonly user_id: string | null;
  /** The machine whose life the token belongs to; null for one made by a person. */
  readonly machine_id: string | null;
  readonly created_at: number;
  /** From then on it opens nothing; null = never. */
  readonly expires_at: number | null;
}

export type NewToken = TokenOwner &
  Partial<Pick<TokenRow, 'access' | 'name' | 'user_id' | 'machine_id' | 'expires_at'>>;

export interface TokenStore {
  create(token: NewToken, now_ms: number): Promise<{ readonly id: string; readonly text: Secret }>;
  /** In the order in which they were made, with those that have expired. */
  list(organization_id: string): Promise<readonly TokenRow[]>;
  /** False when the organization has no such token. */
  revoke(organization_id: string, id: string): Promise<boolean>;
  /** Revokes what earlier lives of a machine were given. */
  revokeOfMachine(machine_id: string): Promise<void>;
}

/** Found by part of the hash, compared as a whole in constant time: the index tells nothing about the rest. */
const LOOKUP_BYTES = 8;
const TOKEN_BYTES = 32;
const columns = 'id, organization_id, sprite_id, access, name, user_id, machine_id, created_at, expires_at';

type Stored = Omit<TokenRow, 'access'> & { readonly access: string };

export function createTokenStore(sql: Sql): TokenStore {
  return {
    async create(token, now_ms) {
      const text = `${token.sprite_id === null ? 'remora_org' : 'remora_sprite'}_${randomToken(TOKEN_BYTES)}`;
      const hash = toTokenHash(text);
      const id = `tok_${randomHex(10)}`;
      const { organization_id, sprite_id, access = 'full', name = null, user_id = null } = token;
      const { machine_id = null, expires_at = null } = token;
      const values = [organization_id, sprite_id, access, name, user_id, machine_id, now_ms, expires_at];
      await sql.run(
        `INSERT INTO tokens (lookup, hash, ${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        [toTokenLookup(hash), hash, id, ...values],
      );
      return { id, text: new Secret(text) };
    },
    async list(organization_id) {
      const text = `SELECT ${columns} FROM tokens WHERE organization_id = $1 ORDER BY created_at, id`;
      return (await sql.all<Stored>(text, [organization_id])).map((row) => ({
        ...row,
        access: parseTokenAccess(row.access),
      }));
    },
    async revoke(organization_id, id) {
      return (await sql.run('DELETE FROM tokens WHERE organization_id = $1 AND id = $2', [organization_id, id])) > 0;
    },
    async revokeOfMachine(machine_id) {
      await sql.run('DELETE FROM tokens WHERE machine_id = $1', [machine_id]);
    },
  };
}

/** What cannot be read opens as little as there is. */
export function parseTokenAccess(stored: string): TokenAccess {
  return stored === 'full' ? 'full' : 'read';
}

export function toTokenHash(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

export function toTokenLookup(hash: Buffer): Buffer {
  return hash.subarray(0, LOOKUP_BYTES);
}
