// Bearer tokens. Only their SHA-256 is kept: the text is shown once, when a token is made.
import { createHash, timingSafeEqual } from 'node:crypto';
import { Secret } from '../../core/secret.ts';
import { randomHex, randomToken } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';

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
  create(token: NewToken, now_ms: number): { readonly id: string; readonly text: Secret };
  /** Undefined also for one that has expired. */
  find(text: string, now_ms: number): TokenRow | undefined;
  /** Whether a token that was found before still opens something. */
  isLive(id: string, now_ms: number): boolean;
  /** In the order in which they were made, with those that have expired. */
  list(organization_id: string): readonly TokenRow[];
  /** False when the organization has no such token. */
  revoke(organization_id: string, id: string): boolean;
  /** Revokes what earlier lives of a machine were given. */
  revokeOfMachine(machine_id: string): void;
}

/** Found by part of the hash, compared as a whole in constant time: the index tells nothing about the rest. */
const LOOKUP_BYTES = 8;
const TOKEN_BYTES = 32;
const columns = 'id, organization_id, sprite_id, access, name, user_id, machine_id, created_at, expires_at';

type Stored = Omit<TokenRow, 'access'> & { readonly access: string };

export function createTokenStore(db: Sqlite): TokenStore {
  const insert = db.prepare<[TokenRow & { readonly lookup: Buffer; readonly hash: Buffer }]>(
    `INSERT INTO tokens (lookup, hash, ${columns})
     VALUES (@lookup, @hash, ${columns.replaceAll(/\w+/g, '@$&')})`,
  );
  const byLookup = db.prepare<[Buffer], Stored & { readonly hash: Buffer }>(
    `SELECT hash, ${columns} FROM tokens WHERE lookup = ?`,
  );
  const live = db.prepare<[string, number]>(
    'SELECT 1 FROM tokens WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)',
  );
  const all = db.prepare<[string], Stored>(
    `SELECT ${columns} FROM tokens WHERE organization_id = ? ORDER BY created_at, id`,
  );
  const remove = db.prepare<[string, string]>('DELETE FROM tokens WHERE organization_id = ? AND id = ?');
  const removeOfMachine = db.prepare<[string]>('DELETE FROM tokens WHERE machine_id = ?');
  return {
    create(token, now_ms) {
      const text = `${token.sprite_id === null ? 'remora_org' : 'remora_sprite'}_${randomToken(TOKEN_BYTES)}`;
      const hash = toHash(text);
      const id = `tok_${randomHex(10)}`;
      const absent = { access: 'full', name: null, user_id: null, machine_id: null, expires_at: null } as const;
      insert.run({ ...absent, ...token, id, created_at: now_ms, lookup: toLookup(hash), hash });
      return { id, text: new Secret(text) };
    },
    find(text, now_ms) {
      const hash = toHash(text);
      const found = byLookup.all(toLookup(hash)).find((candidate) => timingSafeEqual(candidate.hash, hash));
      if (found === undefined || (found.expires_at !== null && found.expires_at <= now_ms)) return undefined;
      const { hash: _, ...row } = found;
      return toRow(row);
    },
    isLive: (id, now_ms) => live.get(id, now_ms) !== undefined,
    list: (organization_id) => all.all(organization_id).map(toRow),
    revoke: (organization_id, id) => remove.run(organization_id, id).changes > 0,
    revokeOfMachine(machine_id) {
      removeOfMachine.run(machine_id);
    },
  };
}

/** What cannot be read opens as little as there is. */
function toRow(stored: Stored): TokenRow {
  return { ...stored, access: stored.access === 'full' ? 'full' : 'read' };
}

function toHash(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

function toLookup(hash: Buffer): Buffer {
  return hash.subarray(0, LOOKUP_BYTES);
}
