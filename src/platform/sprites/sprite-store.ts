// The sprites of every organization, each with the state of the machine behind it.
import { z } from 'zod';
import { type UrlSettings, urlSettings } from '../../contract/sprites.ts';
import { randomHex } from '../../core/urandom.ts';
import type { Sqlite } from '../../sqlite/open.ts';

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
  /** The state of its machine; null when it has none. */
  readonly machine_state: string | null;
  /** Of the agent in it, as it was reported last. */
  readonly agent_version: string | null;
}

export interface NewSprite {
  readonly organization_id: string;
  readonly name: string;
  readonly labels: readonly string[];
  readonly url_settings: UrlSettings;
}

export type SpriteChange = Pick<NewSprite, 'labels' | 'url_settings'>;

export interface SpritePage {
  readonly organization_id: string;
  readonly prefix: string;
  /** The name after which the page begins; empty for the first one. */
  readonly after: string;
  readonly limit: number;
}

export interface SpriteStore {
  /** Undefined when the name is taken. */
  insert(sprite: NewSprite, now_ms: number): SpriteRow | undefined;
  find(id: string): SpriteRow | undefined;
  findByName(organization_id: string, name: string): SpriteRow | undefined;
  /** By name, so that a page begins where the last one ended whatever was inserted in between. */
  list(page: SpritePage): readonly SpriteRow[];
  /** Undefined when there is no such sprite. */
  update(id: string, change: SpriteChange, now_ms: number): SpriteRow | undefined;
  /** Takes its tokens, its machine and its ports along. False when there is no such sprite. */
  delete(id: string): boolean;
  markRunning(id: string, now_ms: number): void;
  markWarm(id: string, now_ms: number): void;
}

interface StoredSprite extends Omit<SpriteRow, 'labels' | 'url_settings'> {
  readonly labels: string;
  readonly url_settings: string;
}

const labelList = z.array(z.string());
/** Above every character that a name can hold. */
const AFTER_ALL = '\u{10FFFF}';

const select = `
SELECT s.id, s.organization_id, s.name, s.labels, s.url_settings, s.created_at, s.updated_at, s.last_running_at,
       s.last_warming_at, m.state AS machine_state, m.agent_version
FROM sprites s LEFT JOIN machines m ON m.sprite_id = s.id`;

export function createSpriteStore(db: Sqlite): SpriteStore {
  const insert = db.prepare<[string, string, string, string, string, number, number]>(
    `INSERT INTO sprites (id, organization_id, name, labels, url_settings, created_at, updated_at)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (organization_id, name) DO NOTHING`,
  );
  const byId = db.prepare<[string], StoredSprite>(`${select} WHERE s.id = ?`);
  const byName = db.prepare<[string, string], StoredSprite>(`${select} WHERE s.organization_id = ? AND s.name = ?`);
  const page = db.prepare<[string, string, string, string, number], StoredSprite>(
    `${select} WHERE s.organization_id = ? AND s.name > ? AND s.name >= ? AND s.name < ? ORDER BY s.name LIMIT ?`,
  );
  const update = db.prepare<[string, string, number, string]>(
    'UPDATE sprites SET labels = ?, url_settings = ?, updated_at = ? WHERE id = ?',
  );
  const remove = db.prepare<[string]>('DELETE FROM sprites WHERE id = ?');
  const running = db.prepare<[number, string]>('UPDATE sprites SET last_running_at = ? WHERE id = ?');
  const warm = db.prepare<[number, string]>('UPDATE sprites SET last_warming_at = ? WHERE id = ?');
  return {
    insert(sprite, now_ms) {
      const id = `spr_${randomHex(10)}`;
      const labels = JSON.stringify(sprite.labels);
      const settings = JSON.stringify(sprite.url_settings);
      const { organization_id, name } = sprite;
      const { changes } = insert.run(id, organization_id, name, labels, settings, now_ms, now_ms);
      return changes === 0 ? undefined : toRow(byId.get(id));
    },
    find: (id) => toRow(byId.get(id)),
    findByName: (organization_id, name) => toRow(byName.get(organization_id, name)),
    list: ({ organization_id, prefix, after, limit }) =>
      page.all(organization_id, after, prefix, prefix + AFTER_ALL, limit).map(parseRow),
    update(id, { labels, url_settings }, now_ms) {
      update.run(JSON.stringify(labels), JSON.stringify(url_settings), now_ms, id);
      return toRow(byId.get(id));
    },
    delete: (id) => remove.run(id).changes > 0,
    markRunning(id, now_ms) {
      running.run(now_ms, id);
    },
    markWarm(id, now_ms) {
      warm.run(now_ms, id);
    },
  };
}

function toRow(stored: StoredSprite | undefined): SpriteRow | undefined {
  return stored === undefined ? undefined : parseRow(stored);
}

function parseRow(stored: StoredSprite): SpriteRow {
  return {
    ...stored,
    labels: labelList.safeParse(parseJson(stored.labels)).data ?? [],
    url_settings: urlSettings.safeParse(parseJson(stored.url_settings)).data ?? { auth: 'sprite' },
  };
}

/** A row that is damaged must not take the list along: without labels and with a closed address it opens nothing. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
