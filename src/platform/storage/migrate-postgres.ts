// Migrates a PostgreSQL database to the schema of this version: in one transaction, and in one process at a time.
import { postgresMigrations } from './postgres-schema.ts';
import type { PostgresSession } from './postgres-session.ts';

/** Throws when the database was written by a newer version; it is then left as it is. */
export async function migratePostgres(
  session: PostgresSession,
  migrations: readonly string[] = postgresMigrations,
): Promise<void> {
  await session.run('BEGIN');
  await session.run('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', ['schema']);
  await session.run('CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)');
  const row = await session.one<{ readonly version: number }>('SELECT version FROM schema_version');
  const done = row?.version ?? 0;
  if (done > migrations.length) {
    throw new Error(
      `the database was written by a newer version (schema ${done}, this one knows ${migrations.length})`,
    );
  }
  for (const text of migrations.slice(done)) await session.run(text);
  if (row === undefined) await session.run('INSERT INTO schema_version (version) VALUES ($1)', [migrations.length]);
  else await session.run('UPDATE schema_version SET version = $1', [migrations.length]);
  await session.run('COMMIT');
}
