// Opens the database of a platform: SQLite in its directory, or PostgreSQL at an address.
import type { Secret } from '../../core/secret.ts';
import { openPostgresStorage } from './postgres-storage.ts';
import { openSqliteStorage } from './sqlite-storage.ts';
import type { Storage } from './storage.ts';

/** See `openPostgresStorage` and `openSqliteStorage`. */
export async function openStorage(dir: string, database: Secret | undefined): Promise<Storage> {
  return database === undefined ? openSqliteStorage(dir) : await openPostgresStorage(database);
}
