// The credentials that systemd hands to a platform.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Undefined where systemd handed over none of this name. Throws when it cannot be read. */
export function readCredential(name: string, env: NodeJS.ProcessEnv): string | undefined {
  if (env.CREDENTIALS_DIRECTORY === undefined) return undefined;
  const path = join(env.CREDENTIALS_DIRECTORY, name);
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}
