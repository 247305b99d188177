// Finds the caller of a token: the token, its organization, its sprite and the incarnation of the sprite's machine. One query reads all
// of it, because every call needs it.
import { timingSafeEqual } from 'node:crypto';
import { parseKnownIncarnation } from '../fencing/known-incarnation.ts';
import { parseSprite, type StoredSprite, spriteColumns } from '../sprites/sprite-store.ts';
import type { Sql } from '../storage/storage.ts';
import type { Principal } from './principal.ts';
import { parseTokenAccess, toTokenHash, toTokenLookup } from './token-store.ts';

export type Caller = Exclude<Principal, { type: 'anonymous' | 'operator' }>;

export interface CallerStore {
  /** Undefined for a token that is unknown or has expired. */
  find(text: string, now_ms: number): Promise<Caller | undefined>;
  /** Reads the caller of a known token again; undefined when the token has been revoked or has expired. */
  again(token_id: string, now_ms: number): Promise<Caller | undefined>;
}

/** The fields of the sprite are null for the token of an organization. */
interface StoredCaller extends Omit<StoredSprite, 'id'> {
  readonly id: string | null;
  readonly token_id: string;
  readonly hash: Buffer;
  readonly access: string;
  readonly user_id: string | null;
  readonly of_machine: string | null;
  readonly expires_at: number | null;
  readonly of_sprite: string | null;
  readonly owner_id: string;
  readonly slug: string;
  readonly display_name: string | null;
  readonly running_limit: number | null;
  readonly warm_limit: number | null;
  readonly creation_limit: number | null;
  readonly generation: number | null;
  readonly incarnation: string | null;
  readonly nonces: string | null;
}

const select = `
SELECT t.id AS token_id, t.hash, t.access, t.user_id, t.expires_at, t.sprite_id AS of_sprite,
  t.machine_id AS of_machine, o.id AS owner_id, o.slug,
  o.display_name, o.running_limit, o.warm_limit, o.creation_limit, m.generation, m.incarnation, m.life_nonces AS nonces, ${spriteColumns}
FROM tokens t JOIN organizations o ON o.id = t.organization_id
LEFT JOIN sprites s ON s.id = t.sprite_id LEFT JOIN machines m ON m.sprite_id = s.id`;
const byLookup = `${select} WHERE t.lookup = $1`;
const byId = `${select} WHERE t.id = $1`;

export function createCallerStore(sql: Sql): CallerStore {
  return {
    async find(text, now_ms) {
      const hash = toTokenHash(text);
      const found = await sql.all<StoredCaller>(byLookup, [toTokenLookup(hash)]);
      return toCaller(
        found.find((candidate) => candidate.hash.length === hash.length && timingSafeEqual(candidate.hash, hash)),
        now_ms,
      );
    },
    async again(token_id, now_ms) {
      return toCaller(await sql.one<StoredCaller>(byId, [token_id]), now_ms);
    },
  };
}

function toCaller(stored: StoredCaller | undefined, now_ms: number): Caller | undefined {
  if (stored === undefined || (stored.expires_at !== null && stored.expires_at <= now_ms)) return undefined;
  const { token_id, access, user_id, expires_at, owner_id } = stored;
  const { slug, display_name, running_limit, warm_limit, creation_limit } = stored;
  const token = { id: token_id, access: parseTokenAccess(access), user_id, machine_id: stored.of_machine, expires_at };
  const organization = { id: owner_id, slug, display_name, running_limit, warm_limit, creation_limit };
  if (stored.of_sprite === null) return { type: 'organization', organization, token };
  if (stored.id === null) return undefined;
  const { organization_id, name, labels, url_settings, created_at, updated_at } = stored;
  const { last_running_at, last_warming_at, machine_id, machine_state, app, agent_version, machine_only } = stored;
  const { generation, incarnation, nonces } = stored;
  const times = { created_at, updated_at, last_running_at, last_warming_at };
  const sprite = { id: stored.id, organization_id, name, labels, url_settings, ...times };
  const own = {
    organization,
    sprite: parseSprite({ ...sprite, machine_id, machine_state, app, agent_version, machine_only }),
    token,
    incarnation: generation === null ? undefined : parseKnownIncarnation({ generation, incarnation, nonces }),
  };
  if (stored.of_machine === null) return { type: 'sprite', ...own };
  return stored.of_machine === machine_id ? { type: 'machine', machine_id, ...own } : undefined;
}
