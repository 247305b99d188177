// Many sprites with their machines and tokens, straight into the database of a platform that does not run, because making them by
// calls takes minutes.
import { createHash, randomBytes } from 'node:crypto';
import Database from 'better-sqlite3';

/** From `sprite-000000` on, in two families, so that a prefix has half of them. */
export function toSpriteName(index: number): string {
  return `${index % 2 === 0 ? 'api' : 'web'}-${String(index).padStart(6, '0')}`;
}

/** Returns the text of the token of each sprite. */
export function seedSprites(path: string, slug: string, count: number): string[] {
  const db = new Database(path);
  try {
    const organization = db
      .prepare<[string], { readonly id: string }>('SELECT id FROM organizations WHERE slug = ?')
      .get(slug);
    if (organization === undefined) throw new Error(`there is no organization ${slug}`);
    const sprite = db.prepare(
      `INSERT INTO sprites (id, organization_id, name, labels, url_settings, created_at, updated_at)
       VALUES (?, ?, ?, '["bench"]', '{"auth":"sprite"}', ?, ?)`,
    );
    const machine = db.prepare(
      `INSERT INTO machines (id, app, organization_id, sprite_id, name, region, private_ip, config, state, instance_id,
                             created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, 'local', 'fdaa::1', '{"driver":"process"}', 'stopped', '', ?, ?)`,
    );
    const token = db.prepare(
      `INSERT INTO tokens (id, lookup, hash, organization_id, sprite_id, access, created_at)
       VALUES (?, ?, ?, ?, ?, 'full', ?)`,
    );
    const now_ms = Date.now();
    const texts: string[] = [];
    const insertAll = db.transaction(() => {
      for (let index = 0; index < count; index += 1) {
        const key = String(index).padStart(14, '0');
        const name = toSpriteName(index);
        const text = `remora_sprite_${randomBytes(32).toString('base64url')}`;
        const hash = createHash('sha256').update(text, 'utf8').digest();
        sprite.run(`spr_${key}`, organization.id, name, now_ms, now_ms);
        machine.run(key, slug, organization.id, `spr_${key}`, name, now_ms, now_ms);
        token.run(`tok_${key}`, hash.subarray(0, 8), hash, organization.id, `spr_${key}`, now_ms);
        texts.push(text);
      }
    });
    insertAll();
    return texts;
  } finally {
    db.close();
  }
}
