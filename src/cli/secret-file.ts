// Reads and writes files that hold secrets, which only one user may read.
import { closeSync, fstatSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { RemoraError } from '../core/remora-error.ts';

/** The mode bits of the group and of all others. */
const OTHERS = 0o077;

/**
 * Reads a file that only its owner may read or write; pipes, terminals and the credentials of systemd, which guards them by other
 * means, are not checked. Throws `not_configured` with the remedy,
 * and the system's error for a file that cannot be read.
 */
export function readSecretFile(path: string): string {
  const file = openSync(path, 'r');
  try {
    const stat = fstatSync(file);
    if (stat.isFile() && (stat.mode & OTHERS) !== 0 && !isCredential(path)) {
      const shown = (stat.mode & 0o777).toString(8).padStart(4, '0');
      throw new RemoraError(
        'not_configured',
        `${path} holds a secret, and other users may use it (mode ${shown}): chmod 600 ${path}`,
      );
    }
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

/** systemd gives them an access list, which shows as rights of the group. */
function isCredential(path: string): boolean {
  const directory = process.env.CREDENTIALS_DIRECTORY;
  return directory !== undefined && directory !== '' && dirname(resolve(path)) === resolve(directory);
}

/** Makes a file of mode 0600, whatever the umask is. Throws when the path exists. */
export function writeSecretFile(path: string, text: string): void {
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
}
