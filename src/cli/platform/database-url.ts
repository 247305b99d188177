// Where `remora platform` finds the address of a PostgreSQL database, which may hold a password.
import { Secret } from '../../core/secret.ts';
import { takeVariable } from '../../linux/take-variable.ts';
import type { Invocation } from '../command.ts';
import { readCredential } from './credential.ts';

const CREDENTIAL = 'remora-database-url';

/**
 * Reads the flag, REMORA_DATABASE_URL or a credential of systemd; undefined when none is given: the database is then SQLite. Deletes REMORA_DATABASE_URL from `env`, so that no child inherits it.
 */
export function readDatabaseUrl(flag: string | undefined, env: NodeJS.ProcessEnv): Secret | undefined {
  const variable = takeVariable(env, 'REMORA_DATABASE_URL').value;
  const given = flag ?? variable ?? readCredential(CREDENTIAL, env)?.trim();
  return given === undefined || given === '' ? undefined : new Secret(given);
}

/** The address as an option of `openPlatform`; empty without one. */
export function toDatabase({ text, env }: Pick<Invocation, 'text' | 'env'>): { database?: Secret } {
  const database = readDatabaseUrl(text('database'), env);
  return database === undefined ? {} : { database };
}
