// Who is behind a token: the token, its organization, its sprite and the life of the sprite's machine, all in one query, because every
// call asks.
import { timingSafeEqual } from 'node:crypto';
import { parseLife } from '../lives/life-store.ts';
import { parseSprite, type StoredSprite, spriteColumns } from '../sprites/sprite-store.ts';
import type { Sql } from '../storage/storage.ts';
import type { Principal } from './principal.ts';
import { parseTokenAccess, toTokenHash, toTokenLookup } from './token-store.ts';

export type Caller = Exclude<Principal, { type: 'anonymous' }>;

export interface CallerStore {
  /** Undefined also for a token that has expired. */
  find(text: string, now_ms: number): Promise<Caller | undefined>;
  /** As it is now; undefined when the token that was found before opens nothing any more. */
  again(token_id: string, now_ms: number): Promise<Caller | undefined>;
}

/** The fields of the sprite are null for the token of an organization. */
interface StoredCaller extends Omit<StoredSprite, 'id'> {
  readonly id: string | null;
  readonly token_id: string;
  readonly hash: Buffer;
  readonly access: string;
  readonly user_id: string | null;
  readonly expires_at: number | null;
  readonly of_sprite: string | null;
  readonly owner_id: string;
  readonly slug: string;
  readonly running_limit: number | null;
  readonly warm_limit: number | null;
  readonly generation: number | null;
  readonly incarnation: string | null;
}

const select = `
SELECT t.id AS token_id, t.hash, t.access, t.user_id, t.expires_at, t.sprite_id AS of_sprite, o.id AS owner_id, o.slug,
  o.running_limit, o.warm_limit, m.generation, m.incarnation, ${spriteColumns}
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
  const { token_id, access, user_id, owner_id, slug, running_limit, warm_limit } = stored;
  const token = { id: token_id, access: parseTokenAccess(access), user_id };
  const organization = { id: owner_id, slug, running_limit, warm_limit };
  if (stored.of_sprite === null) return { type: 'organization', organization, token };
  if (stored.id === null) return undefined;
  const { organization_id, name, labels, url_settings, created_at, updated_at } = stored;
  const { last_running_at, last_warming_at, machine_state, agent_version, generation, incarnation } = stored;
  const times = { created_at, updated_at, last_running_at, last_warming_at };
  const sprite = { id: stored.id, organization_id, name, labels, url_settings, ...times, machine_state, agent_version };
  return {
    type: 'sprite',
    organization,
    sprite: parseSprite(sprite),
    token,
    life: generation === null ? undefined : parseLife({ generation, incarnation }),
  };
}
