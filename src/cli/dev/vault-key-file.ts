// The vault key of a development platform: made once and kept next to its database.
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { errorCode } from '../../core/error-code.ts';
import { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';
import { writeSecretFile } from '../secret-file.ts';

const KEY_BYTES = 32;

/** Reads the key or makes one. Throws for a link, a file of another user, or one that others may read or write. */
export function openVaultKeyFile(path: string): Secret {
  try {
    writeSecretFile(path, randomHex(KEY_BYTES));
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() || stat.uid !== userInfo().uid || (stat.mode & 0o077) !== 0) {
      throw new Error(`${path} is not a key of this user alone; remove it, or choose another directory with --dir DIR`);
    }
    return new Secret(readFileSync(file, 'utf8').trim());
  } finally {
    closeSync(file);
  }
}
