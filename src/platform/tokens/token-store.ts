// Bearer tokens. Only their SHA-256 is kept: the text is shown once, when a token is made.
import { createHash, timingSafeEqual } from 'node:crypto';
import { Secret } from '../../core/secret.ts';
import { randomHex, randomToken } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';

/** Whom a token stands for: a whole organization, or one sprite of it. */
export interface TokenOwner {
  readonly organization_id: string;
  readonly sprite_id: string | null;
}

export interface NewToken extends TokenOwner {
  /** The machine whose life the token belongs to; null for one made by a person. */
  readonly machine_id?: string;
}

export interface TokenStore {
  create(token: NewToken, now_ms: number): Secret;
  find(text: string): TokenOwner | undefined;
  /** Revokes what earlier lives of a machine were given. */
  revokeOfMachine(machine_id: string): void;
}

/** Found by part of the hash, compared as a whole in constant time: the index tells nothing about the rest. */
const LOOKUP_BYTES = 8;
const TOKEN_BYTES = 32;

interface TokenRow extends TokenOwner {
  readonly hash: Buffer;
}

export function createTokenStore(db: Sqlite): TokenStore {
  const insert = db.prepare<[string, Buffer, Buffer, string, string | null, string | null, number]>(
    `INSERT INTO tokens (id, lookup, hash, organization_id, sprite_id, machine_id, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const byLookup = db.prepare<[Buffer], TokenRow>(
    'SELECT hash, organization_id, sprite_id FROM tokens WHERE lookup = ?',
  );
  const deleteOfMachine = db.prepare<[string]>('DELETE FROM tokens WHERE machine_id = ?');
  return {
    create({ organization_id, sprite_id, machine_id }, now_ms) {
      const text = `${sprite_id === null ? 'remora_org' : 'remora_sprite'}_${randomToken(TOKEN_BYTES)}`;
      const hash = toHash(text);
      insert.run(`tok_${randomHex(10)}`, toLookup(hash), hash, organization_id, sprite_id, machine_id ?? null, now_ms);
      return new Secret(text);
    },
    find(text) {
      const hash = toHash(text);
      const row = byLookup.all(toLookup(hash)).find((candidate) => timingSafeEqual(candidate.hash, hash));
      return row === undefined ? undefined : { organization_id: row.organization_id, sprite_id: row.sprite_id };
    },
    revokeOfMachine(machine_id) {
      deleteOfMachine.run(machine_id);
    },
  };
}

function toHash(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}

function toLookup(hash: Buffer): Buffer {
  return hash.subarray(0, LOOKUP_BYTES);
}
