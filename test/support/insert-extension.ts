// An extension of a test, put into the database as if its provider had made it.
import type { Sql } from '../../src/platform/storage/storage.ts';

export interface InsertedExtension {
  readonly id: string;
  readonly provider: string;
  readonly provider_id: string;
  readonly organization_id: string;
}

export async function insertExtension(sql: Sql, extension: InsertedExtension): Promise<void> {
  const { id, provider, provider_id, organization_id } = extension;
  await sql.run(
    `INSERT INTO extensions (id, organization_id, provider, name, provider_id, user_id, user_email, user_role, read_regions,
       unrequested, state, variables, begun_at, created_at, updated_at)
     VALUES ($1, $2, $3, $1, $4, NULL, 'u@x', 'admin', '[]', 0, 'ready', '[]', 1, 1, 1)`,
    [id, organization_id, provider, provider_id],
  );
}
