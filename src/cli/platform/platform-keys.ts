// Where `remora platform` finds its vault keys: a file named by a flag or a variable, a systemd credential, or a variable.
import { Secret } from '../../core/secret.ts';
import { takeVariable } from '../../linux/take-variable.ts';
import { readSecretFile } from '../secret-file.ts';
import { readCredential } from './credential.ts';

const CREDENTIAL = 'remora-platform-key';

/**
 * One key a line, the newest first; empty when there is none. Deletes REMORA_PLATFORM_KEY from `env`, so that no child inherits it.
 * Throws when a named file cannot be read, or when others may read it too. The mode of a systemd credential is not checked: systemd
 * protects it, and its mode may seem to let the group read.
 */
export function readPlatformKeys(keyFile: string | undefined, env: NodeJS.ProcessEnv): Secret[] {
  const inline = takeVariable(env, 'REMORA_PLATFORM_KEY').value;
  const path = keyFile ?? env.REMORA_PLATFORM_KEY_FILE;
  const text = path === undefined ? (readCredential(CREDENTIAL, env) ?? inline ?? '') : readSecretFile(path);
  return text
    .split(/[\s,]+/)
    .filter((key) => key !== '')
    .map((key) => new Secret(key));
}
