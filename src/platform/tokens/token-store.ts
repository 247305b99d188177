// Bearer tokens. Only their SHA-256 is kept: the text is shown once, when a token is made.
import { hash } from 'node:crypto';
import { Secret } from '../../core/secret.ts';
import { randomHex, randomToken } from '../../core/urandom.ts';
import type { Sql } from '../storage/storage.ts';

/** `full`: everything that its owner may do. `read`: only operations that change nothing, and no calls through the gateway. */
export type TokenAccess = 'full' | 'read';

/** The owner of a token: a whole organization, or one sprite of it. */
export interface TokenOwner {
  readonly organization_id: string;
  readonly sprite_id: string | null;
}

export interface TokenRow extends TokenOwner {
  readonly id: string;
  readonly access: TokenAccess;
  readonly name: string | null;
  /** The person that the token was made for. Connectors made with it name that person. */
  readonly user_id: string | null;
  /** The machine that the platform made the token for; null for a token that a caller made. */
  readonly machine_id: string | null;
  readonly created_at: number;
  /** The time from which the token is no longer good; null = never. */
  readonly expires_at: number | null;
}

export type NewToken = TokenOwner &
  Partial<Pick<TokenRow, 'access' | 'name' | 'user_id' | 'machine_id' | 'expires_at'>>;

/** A token with the name of its sprite; null for a token of the whole organization. */
export interface ListedToken extends TokenRow {
  readonly sprite: string | null;
}

/** The last token of a page, where the next page begins. */
export type TokenPosition = Pick<TokenRow, 'created_at' | 'id'>;

export interface TokenPage {
  readonly organization_id: string;
  readonly after: TokenPosition | undefined;
  readonly limit: number;
}

export interface TokenStore {
  create(token: NewToken, now_ms: number): Promise<{ readonly id: string; readonly text: Secret }>;
  /** Lists the tokens in the order in which they were made, expired ones too. */
  list(organization_id: string): Promise<readonly TokenRow[]>;
  /** The same, a page at a time. */
  page(page: TokenPage): Promise<readonly ListedToken[]>;
  /** False when the organization has no such token. */
  revoke(organization_id: string, id: string): Promise<boolean>;
  /** Revokes the tokens that the platform made for a machine. */
  revokeOfMachine(machine_id: string): Promise<void>;
}

/** The index holds this much of the hash; the rest is compared in constant time, so that timing reveals nothing about it. */
const LOOKUP_BYTES = 8;
const TOKEN_BYTES = 32;
const columns = 'id, organization_id, sprite_id, access, name, user_id, machine_id, created_at, expires_at';

type Stored = Omit<TokenRow, 'access'> & { readonly access: string };

const POSITION = /^(\d{1,15})-(\w{1,64})$/;

export function createTokenStore(sql: Sql): TokenStore {
  return {
    async create(token, now_ms) {
      const text = `${toPrefix(token)}_${randomToken(TOKEN_BYTES)}`;
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
    async page({ organization_id, after = { created_at: -1, id: '' }, limit }) {
      const listed = columns.replaceAll(/\w+/g, 't.$&');
      const rows = await sql.all<Stored & Pick<ListedToken, 'sprite'>>(
        `SELECT ${listed}, s.name AS sprite FROM tokens t LEFT JOIN sprites s ON s.id = t.sprite_id
         WHERE t.organization_id = $1 AND (t.created_at > $2 OR (t.created_at = $2 AND t.id > $3))
         ORDER BY t.created_at, t.id LIMIT $4`,
        [organization_id, after.created_at, after.id, limit],
      );
      return rows.map((row) => ({ ...row, access: parseTokenAccess(row.access) }));
    },
    async revoke(organization_id, id) {
      return (await sql.run('DELETE FROM tokens WHERE organization_id = $1 AND id = $2', [organization_id, id])) > 0;
    },
    async revokeOfMachine(machine_id) {
      await sql.run('DELETE FROM tokens WHERE machine_id = $1', [machine_id]);
    },
  };
}

function toPrefix({ sprite_id, machine_id = null }: NewToken): string {
  if (machine_id !== null) return 'remora_machine';
  return sprite_id === null ? 'remora_org' : 'remora_sprite';
}

/** A position as text, which callers pass back unchanged. */
export function toTokenPosition({ created_at, id }: TokenPosition): string {
  return `${created_at}-${id}`;
}

/** Undefined for what is no position. */
export function parseTokenPosition(text: string): TokenPosition | undefined {
  const [, created_at, id] = POSITION.exec(text) ?? [];
  return created_at === undefined || id === undefined ? undefined : { created_at: Number(created_at), id };
}

/** A value that cannot be read counts as `read`, the lesser access. */
export function parseTokenAccess(stored: string): TokenAccess {
  return stored === 'full' ? 'full' : 'read';
}

export function toTokenHash(text: string): Buffer {
  // The hash is text first: a buffer of its own outside the heap costs more.
  return Buffer.from(hash('sha256', text, 'latin1'), 'latin1');
}

export function toTokenLookup(hash: Buffer): Buffer {
  return hash.subarray(0, LOOKUP_BYTES);
}
