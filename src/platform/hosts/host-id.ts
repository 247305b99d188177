// The name of this platform process among those on one database, kept in its directory, where the machines' disks are too.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../core/error-code.ts';
import { randomHex } from '../../core/urandom.ts';
import { makeDirectory } from '../../linux/make-directory.ts';

const FILE = 'host-id';
const FORM = /^[A-Za-z0-9_-]{1,64}$/;

/** Reads the name, or makes one at the first start. Throws for a file that holds no name. */
export function openHostId(dir: string): string {
  const path = join(dir, FILE);
  makeDirectory(dir, 0o700);
  const host = readOrMake(path);
  if (FORM.test(host)) return host;
  throw new Error(`${path} holds no name of a host: expected up to 64 letters, digits, dashes and underscores`);
}

function readOrMake(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    const host = randomHex(8);
    writeFileSync(path, `${host}\n`, { mode: 0o600, flag: 'wx' });
    return host;
  }
}
