// A vault key in a file that only its owner can read, for a platform that keeps its key on its own disk.
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Secret } from '../../core/secret.ts';
import { randomHex } from '../../core/urandom.ts';

/** Reads the key, or makes one when there is no file: complete before it has its name, and never over another. */
export function openKeyFile(path: string): Secret {
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const made = `${path}.${randomHex(4)}`;
    writeFileSync(made, `${randomHex(32)}\n`, { mode: 0o600, flag: 'wx', flush: true });
    try {
      linkSync(made, path);
    } catch (error) {
      if (!existsSync(path)) throw error;
    } finally {
      rmSync(made);
    }
  }
  return new Secret(readFileSync(path, 'utf8').trim());
}
