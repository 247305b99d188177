// The vault key of a development platform: made once, kept next to its database for as long as that is kept.
import { readFileSync, writeFileSync } from 'node:fs';
import { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';

const KEY_BYTES = 32;

export function openVaultKeyFile(path: string): Secret {
  try {
    writeFileSync(path, `${randomHex(KEY_BYTES)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  return new Secret(readFileSync(path, 'utf8').trim());
}
