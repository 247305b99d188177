// Where `remora platform` finds the address of a PostgreSQL database, which may hold a password.
import { Secret } from '../../core/secret.ts';

/**
 * Undefined without one: the database is then SQLite's. Takes REMORA_DATABASE_URL out of `env`, so that no child inherits it.
 */
export function readDatabaseUrl(flag: string | undefined, env: NodeJS.ProcessEnv): Secret | undefined {
  const given = flag ?? env.REMORA_DATABASE_URL;
  delete env.REMORA_DATABASE_URL;
  return given === undefined || given === '' ? undefined : new Secret(given);
}
