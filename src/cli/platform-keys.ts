// Where `remora platform` finds its vault keys: a file named by a flag or a variable, a systemd credential, or a variable.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../core/secret.ts';

const CREDENTIAL = 'remora-platform-key';

/**
 * One key a line, the newest first; empty when there is none. Takes REMORA_PLATFORM_KEY out of `env`, so that no child
 * inherits it. Throws when a named file cannot be read.
 */
export function readPlatformKeys(keyFile: string | undefined, env: NodeJS.ProcessEnv): Secret[] {
  const inline = env.REMORA_PLATFORM_KEY;
  delete env.REMORA_PLATFORM_KEY;
  const path = keyFile ?? env.REMORA_PLATFORM_KEY_FILE ?? findCredential(env);
  const text = path === undefined ? (inline ?? '') : readFileSync(path, 'utf8');
  return text
    .split(/[\s,]+/)
    .filter((key) => key !== '')
    .map((key) => new Secret(key));
}

function findCredential(env: NodeJS.ProcessEnv): string | undefined {
  if (env.CREDENTIALS_DIRECTORY === undefined) return undefined;
  const path = join(env.CREDENTIALS_DIRECTORY, CREDENTIAL);
  return existsSync(path) ? path : undefined;
}
