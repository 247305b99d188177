// `remora platform key`, `backup` and `rotate`: each function is one command.
import { join } from 'node:path';
import { randomHex } from '../../core/urandom.ts';
import { backupDatabase } from '../../sqlite/backup.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { writeSecretFile } from '../secret-file.ts';
import { toDatabase } from './database-url.ts';
import { openAdmin } from './open-admin.ts';
import { toPlatformDir } from './platform-dir.ts';

const KEY_BYTES = 32;

/** Writes the key to a file of mode 0600; a redirection in a shell would get the mode that the umask leaves. */
export async function makeKey({ operands, out }: Invocation): Promise<number> {
  const [path] = operands;
  if (path === undefined) {
    out.line(randomHex(KEY_BYTES));
    return exitCode.ok;
  }
  writeSecretFile(path, randomHex(KEY_BYTES));
  out.line(`${path}: a new vault key, for you alone; no credential opens without it, so keep a copy elsewhere`);
  return exitCode.ok;
}

export async function backup(invocation: Invocation): Promise<number> {
  const { operands, out } = invocation;
  if (toDatabase(invocation).database !== undefined) {
    throw new UsageError('platform backup copies the file of SQLite; a PostgreSQL database is copied with pg_dump');
  }
  const source = join(toPlatformDir(invocation), 'platform.db');
  const { path, bytes } = await backupDatabase(source, operands[0] ?? '');
  out.line(`${path}: ${bytes} bytes; it opens with the vault keys, which are not in it`);
  return exitCode.ok;
}

export async function rotate(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  await using offline = await openAdmin(invocation, toPlatformDir(invocation));
  const { rotated, unreadable } = await offline.rotateKeys();
  out.line(`${rotated} credentials are closed with the first key now`);
  for (const { source, id } of unreadable) {
    out.note(`the credential of ${id} in ${source} opens with none of the keys; it was left`);
  }
  return unreadable.length === 0 ? exitCode.ok : exitCode.failed;
}
