// Copies a file or a directory from here into a sprite.
import type { Dirent } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join, posix, resolve } from 'node:path';
import { randomHex } from '../../../core/urandom.ts';
import { type CopyJob, copyAll } from './copy-job.ts';

const USUAL_DIRECTORY = 0o755;

/** `dest` is absolute; a directory takes the source under its own name. Throws as the system does, and UpstreamError. */
export async function copyIn(job: CopyJob, source: string, dest: string): Promise<void> {
  const found = await stat(source);
  const isInto = dest.endsWith('/') || (await job.files.isDirectory(dest));
  const place = isInto ? posix.join(dest, basename(resolve(source))) : dest;
  if (!found.isDirectory()) await copyFile(job, source, place, false);
  else if (job.isRecursive) await copyDirectory(job, source, place);
  else throw new Error(`${source} is a directory; -r copies it`);
}

/** Copies the standard input. */
export async function copyStreamIn({ files, progress }: CopyJob, dest: string): Promise<void> {
  const content = progress.count('-', process.stdin, undefined);
  try {
    await files.write(dest, { content, size: undefined, mode: undefined, makesParents: false });
  } finally {
    // An input that does not end must not keep this process running.
    process.stdin.destroy();
  }
}

async function copyFile({ files, progress, signal }: CopyJob, source: string, dest: string, makesParents: boolean) {
  signal.throwIfAborted();
  await using handle = await open(source);
  const found = await handle.stat();
  // A file that grows meanwhile is copied as long as it was.
  const size = found.isFile() && found.size > 0 ? found.size : undefined;
  const range = size === undefined ? {} : { start: 0, end: size - 1 };
  const stream = handle.createReadStream({ ...range, autoClose: false });
  const content = progress.count(source, stream, size);
  await files.write(dest, { content, size, mode: found.mode, makesParents });
}

async function copyDirectory(job: CopyJob, source: string, dest: string): Promise<void> {
  const copies: (() => Promise<void>)[] = [];
  const modes: (() => Promise<void>)[] = [];
  await walk(job, source, dest, { copies, modes });
  await copyAll(copies);
  // The deepest come first: one that nobody may write is closed once all is in it.
  for (const change of modes) await change();
}

interface Plan {
  readonly copies: (() => Promise<void>)[];
  readonly modes: (() => Promise<void>)[];
}

async function walk(job: CopyJob, source: string, dest: string, plan: Plan): Promise<void> {
  job.signal.throwIfAborted();
  const { files } = job;
  const children = await readdir(source, { withFileTypes: true });
  const { mode } = await stat(source);
  for (const child of children) {
    const [from, to] = [join(source, child.name), posix.join(dest, child.name)];
    if (child.isDirectory()) await walk(job, from, to, plan);
    else if (child.isFile()) plan.copies.push(() => copyFile(job, from, to, true));
    else job.leaveOut(from, toKind(child));
  }
  const bits = mode & 0o777;
  const isCopiedEmpty = !children.some((child) => child.isFile() || child.isDirectory());
  if (isCopiedEmpty) plan.copies.push(() => files.makeDirectory(dest, `.${randomHex(6)}.remora`));
  if (bits !== USUAL_DIRECTORY) plan.modes.push(() => files.changeMode(dest, bits));
}

function toKind(child: Dirent): string {
  return child.isSymbolicLink() ? 'is a link' : 'is no regular file';
}
