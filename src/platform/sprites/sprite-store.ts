// The sprites of every organization, each with the state of the machine behind it.
import { z } from 'zod';
import { type UrlSettings, urlSettings } from '../../contract/sprites.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Sql } from '../storage/storage.ts';

export interface SpriteRow {
  readonly id: string;
  readonly organization_id: string;
  readonly name: string;
  readonly labels: readonly string[];
  readonly url_settings: UrlSettings;
  readonly created_at: number;
  readonly updated_at: number;
  readonly last_running_at: number | null;
  readonly last_warming_at: number | null;
  /** The id and the state of its machine; null when it has none. */
  readonly machine_id: string | null;
  readonly machine_state: string | null;
  /** The app of its machine. */
  readonly app: string | null;
  /** The version of its agent, from the last report. */
  readonly agent_version: string | null;
  /** See `NewSprite`. */
  readonly machine_only: boolean;
}

export interface NewSprite {
  readonly organization_id: string;
  readonly name: string;
  readonly labels: readonly string[];
  readonly url_settings: UrlSettings;
  /** Its machine was made by the machines API: the sprite is in no list, and can be found by its name, the id of the machine. */
  readonly machine_only?: boolean;
}

export type SpriteChange = Pick<NewSprite, 'labels' | 'url_settings'>;

export interface SpritePage {
  readonly organization_id: string;
  readonly prefix: string;
  /** The name after which the page begins; empty for the first one. */
  readonly after: string;
  readonly limit: number;
  /** Also those that are `machine_only`. */
  readonly all?: true;
}

export interface SpriteStore {
  /** Undefined when the name is taken. */
  insert(sprite: NewSprite, now_ms: number): Promise<SpriteRow | undefined>;
  find(id: string): Promise<SpriteRow | undefined>;
  findByName(organization_id: string, name: string): Promise<SpriteRow | undefined>;
  /** Sorted by name, so that a page begins where the last one ended even after insertions. */
  list(page: SpritePage): Promise<readonly SpriteRow[]>;
  /** Undefined when there is no such sprite. */
  update(id: string, change: SpriteChange, now_ms: number): Promise<SpriteRow | undefined>;
  /** Deletes its tokens, machine and ports too. False when there is no such sprite. */
  delete(id: string): Promise<boolean>;
  markRunning(id: string, now_ms: number): Promise<void>;
  markWarm(id: string, now_ms: number): Promise<void>;
}

/** The row as the database returns it: two fields are JSON text. */
export interface StoredSprite extends Omit<SpriteRow, 'labels' | 'url_settings' | 'machine_only'> {
  readonly machine_only: number;
  readonly labels: string;
  readonly url_settings: string;
}

const labelList = z.array(z.string());
/** Sorts after every character that a name can hold. */
const AFTER_ALL = '\u{10FFFF}';

/** `s` is the sprite and `m` its machine. */
export const spriteColumns = `s.id, s.organization_id, s.name, s.labels, s.url_settings, s.created_at, s.updated_at,
  s.last_running_at, s.last_warming_at, m.id AS machine_id, m.state AS machine_state, m.app, m.agent_version, s.machine_only`;
const select = `SELECT ${spriteColumns} FROM sprites s LEFT JOIN machines m ON m.sprite_id = s.id`;
const byId = `${select} WHERE s.id = $1`;
const byName = `${select} WHERE s.organization_id = $1 AND s.name = $2`;

export function createSpriteStore(sql: Sql): SpriteStore {
  const find = async (id: string) => toRow(await sql.one<StoredSprite>(byId, [id]));
  return {
    find,
    async insert({ organization_id, name, labels, url_settings, machine_only = false }, now_ms) {
      const id = `spr_${randomHex(10)}`;
      const made = await sql.run(
        `INSERT INTO sprites (id, organization_id, name, labels, url_settings, created_at, updated_at, machine_only)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7) ON CONFLICT (organization_id, name) DO NOTHING`,
        [id, organization_id, name, JSON.stringify(labels), JSON.stringify(url_settings), now_ms, machine_only ? 1 : 0],
      );
      return made === 0 ? undefined : await find(id);
    },
    async findByName(organization_id, name) {
      return toRow(await sql.one<StoredSprite>(byName, [organization_id, name]));
    },
    async list({ organization_id, prefix, after, limit, all }) {
      // Only one lower bound is given: with two, a database may begin at the smaller one and read all rows between them.
      const [begin, bound] = after < prefix ? ['s.name >= $2', prefix] : ['s.name > $2', after];
      const rows = await sql.all<StoredSprite>(
        `${select} WHERE s.organization_id = $1 AND ${begin} AND s.name < $3 ${all === true ? '' : 'AND s.machine_only = 0'} ORDER BY s.name LIMIT $4`,
        [organization_id, bound, prefix + AFTER_ALL, limit],
      );
      return rows.map(parseSprite);
    },
    async update(id, { labels, url_settings }, now_ms) {
      const values = [JSON.stringify(labels), JSON.stringify(url_settings), now_ms, id];
      await sql.run('UPDATE sprites SET labels = $1, url_settings = $2, updated_at = $3 WHERE id = $4', values);
      return await find(id);
    },
    delete: async (id) => (await sql.run('DELETE FROM sprites WHERE id = $1', [id])) > 0,
    async markRunning(id, now_ms) {
      await sql.run('UPDATE sprites SET last_running_at = $1 WHERE id = $2', [now_ms, id]);
    },
    async markWarm(id, now_ms) {
      await sql.run('UPDATE sprites SET last_warming_at = $1 WHERE id = $2', [now_ms, id]);
    },
  };
}

function toRow(stored: StoredSprite | undefined): SpriteRow | undefined {
  return stored === undefined ? undefined : parseSprite(stored);
}

export function parseSprite(stored: StoredSprite): SpriteRow {
  return {
    ...stored,
    machine_only: stored.machine_only === 1,
    labels: labelList.safeParse(parseJson(stored.labels)).data ?? [],
    url_settings: urlSettings.safeParse(parseJson(stored.url_settings)).data ?? { auth: 'sprite' },
  };
}

/** A damaged row must not fail the whole list: it counts as a sprite without labels and with a private URL, which allows nothing. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
