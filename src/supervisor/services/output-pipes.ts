// The pipes for what a program prints, which the program can open again as `/dev/stdout` and `/dev/stderr`: what Node makes for a child are
// sockets, which cannot be opened by a name. They belong to the user of the program; their own names are gone before it begins.
import { execFile } from 'node:child_process';
import { constants, fchownSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { randomHex } from '../../core/urandom.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import type { UnixUser } from '../../linux/users.ts';

const run = promisify(execFile);

export interface OutputPipe {
  /** The descriptor of what the program prints, which does not block; it ends when no process has the other end. */
  readonly reader: number;
  /** The descriptor for the program. Close it here once the program has it. */
  readonly writer: number;
}

/** Where pipes are made. */
export function toPipeDirectory(stateDir: string): string {
  return join(stateDir, 'supervisor', 'output');
}

/** Two pipes. @param dir only this user may enter it. */
export async function openOutputPipes(
  dir: string,
  owner: Pick<UnixUser, 'uid' | 'gid'> | undefined,
): Promise<readonly [OutputPipe, OutputPipe]> {
  makeDirectory(dir, 0o700);
  const path = join(dir, `output-${randomHex(8)}`);
  const [out, err] = [`${path}-1`, `${path}-2`];
  try {
    await run('mkfifo', ['-m', '600', out, err]);
    return [openPipe(out, owner), openPipe(err, owner)];
  } finally {
    rmSync(out, { force: true });
    rmSync(err, { force: true });
  }
}

/** Neither open waits: the reader is not blocking, and the writer finds a reader. */
function openPipe(path: string, owner: Pick<UnixUser, 'uid' | 'gid'> | undefined): OutputPipe {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY);
  if (owner !== undefined) fchownSync(writer, owner.uid, owner.gid);
  return { reader, writer };
}
