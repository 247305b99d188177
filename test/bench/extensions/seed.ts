// Many extensions of one provider, straight into the database of a platform, because making them by calls takes minutes.
import Database from 'better-sqlite3';

export function seedExtensions(path: string, slug: string, provider: string, count: number): void {
  const db = new Database(path);
  try {
    const organization = db
      .prepare<[string], { readonly id: string }>('SELECT id FROM organizations WHERE slug = ?')
      .get(slug);
    if (organization === undefined) throw new Error(`there is no organization ${slug}`);
    const insert = db.prepare(
      `INSERT INTO extensions (id, organization_id, provider, name, provider_id, user_id, user_email, user_role, read_regions,
         unrequested, state, variables, begun_at, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, NULL, 'u@x', 'admin', '[]', 0, 'ready', '["KV_URL"]', ?, ?, ?)`,
    );
    const now_ms = Date.now();
    const insertAll = db.transaction(() => {
      for (let index = 0; index < count; index += 1) {
        const key = String(index).padStart(14, '0');
        const at = now_ms - count + index;
        insert.run(`ext_${key}`, organization.id, provider, `bench-${key}`, `p_${index}`, at, at, at);
      }
    });
    insertAll();
  } finally {
    db.close();
  }
}
