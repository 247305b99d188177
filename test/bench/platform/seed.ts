// Many sprites with their machines and tokens, straight into the database of a platform that does not run, because making them by
// calls takes minutes.
import { createHash, randomBytes } from 'node:crypto';
import type { Sql, SqlValue, Storage } from '../../../src/platform/storage/storage.ts';

/** How many rows go into one statement. */
const ROWS = 500;

/** Makes two families of names, `api-000000` and `web-000001`, so that a prefix has half of them. */
export function toSpriteName(index: number): string {
  return `${index % 2 === 0 ? 'api' : 'web'}-${String(index).padStart(6, '0')}`;
}

/** Returns the text of the token of each sprite. */
export async function seedSprites(storage: Storage, slug: string, count: number): Promise<string[]> {
  const organization = await storage.one<{ readonly id: string }>('SELECT id FROM organizations WHERE slug = $1', [
    slug,
  ]);
  if (organization === undefined) throw new Error(`there is no organization ${slug}`);
  const { id } = organization;
  const texts = Array.from({ length: count }, () => `remora_sprite_${randomBytes(32).toString('base64url')}`);
  const now_ms = Date.now();
  await storage.transaction(async (sql) => {
    for (let begin = 0; begin < count; begin += ROWS) {
      const each = texts.slice(begin, begin + ROWS).map((text, place) => {
        const index = begin + place;
        const key = String(index).padStart(14, '0');
        const hash = createHash('sha256').update(text, 'utf8').digest();
        return { key, hash, name: toSpriteName(index) };
      });
      await insert(
        sql,
        'sprites (id, organization_id, name, labels, url_settings, created_at, updated_at)',
        each.map(({ key, name }) => [`spr_${key}`, id, name, '["bench"]', '{"auth":"sprite"}', now_ms, now_ms]),
      );
      await insert(
        sql,
        `machines (id, app, organization_id, sprite_id, name, region, private_ip, config, state, instance_id, created_at,
                   updated_at)`,
        each.map(({ key, name }) => {
          const what = ['local', 'fdaa::1', '{"driver":"process"}', 'stopped', ''];
          return [key, slug, id, `spr_${key}`, name, ...what, now_ms, now_ms];
        }),
      );
      await insert(
        sql,
        'tokens (id, lookup, hash, organization_id, sprite_id, access, created_at)',
        each.map(({ key, hash }) => [`tok_${key}`, hash.subarray(0, 8), hash, id, `spr_${key}`, 'full', now_ms]),
      );
    }
  });
  return texts;
}

async function insert(sql: Sql, into: string, rows: readonly (readonly SqlValue[])[]): Promise<void> {
  let place = 0;
  const tuples = rows.map((row) => `(${row.map(() => `$${++place}`).join(', ')})`);
  await sql.run(`INSERT INTO ${into} VALUES ${tuples.join(', ')}`, rows.flat());
}
