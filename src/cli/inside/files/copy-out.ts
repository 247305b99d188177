// Copies a file or a directory from a sprite to here. What the sprite says of names and modes is not believed.
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { join, posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { FileEntry } from '../../../contract/files.ts';
import { type CopyJob, copyAll } from './copy-job.ts';
import { replaceLocalFile } from './local-replacement.ts';

const PERMISSIONS = 0o777;
const PRIVATE_DIRECTORY = 0o700;

/** `source` is absolute. A directory here takes the source under its own name. Throws UpstreamError, and as the system does. */
export async function copyOut(job: CopyJob, source: string, dest: string): Promise<void> {
  const found = await job.files.look(source);
  const isInto = dest.endsWith('/') || statSync(dest, { throwIfNoEntry: false })?.isDirectory() === true;
  const place = isInto ? join(dest, posix.basename(posix.resolve(source))) : dest;
  if ('file' in found) {
    await copyFile(job, source, place, toMode(found.file));
    return;
  }
  if (!job.isRecursive) throw new Error(`${source} is a directory; -r copies it`);
  const plan: Plan = { copies: [], modes: [] };
  const mode = await job.files.directoryMode(source);
  await walk(job, found.children, { source, dest: place, mode: mode ?? PRIVATE_DIRECTORY }, plan);
  await copyAll(plan.copies);
  for (const change of plan.modes) change();
}

/** Copies a file to the standard output. */
export async function copyStreamOut({ files, progress, signal }: CopyJob, source: string): Promise<void> {
  const { body, size } = await files.open(source);
  await pipeline(progress.count(source, body, size), process.stdout, { signal, end: false });
}

async function copyFile({ files, progress, signal }: CopyJob, source: string, dest: string, mode: number) {
  signal.throwIfAborted();
  const { body, size } = await files.open(source);
  await replaceLocalFile(dest, progress.count(source, body, size), mode, signal);
}

interface Plan {
  readonly copies: (() => Promise<void>)[];
  /** The deepest directories come first. */
  readonly modes: (() => void)[];
}

interface Directory {
  readonly source: string;
  readonly dest: string;
  readonly mode: number;
}

async function walk(job: CopyJob, children: readonly FileEntry[], directory: Directory, plan: Plan): Promise<void> {
  job.signal.throwIfAborted();
  const { source, dest, mode } = directory;
  const isNew = mkdirSync(dest, { recursive: true, mode: PRIVATE_DIRECTORY }) !== undefined;
  for (const child of children) {
    const from = posix.join(source, child.name);
    const to = join(dest, child.name);
    if (!isPlainName(child.name) || child.unusable === true) job.leaveOut(from, 'has a name that cannot be used');
    else if (child.type === 'file') plan.copies.push(() => copyFile(job, from, to, toMode(child)));
    else if (child.type !== 'directory')
      job.leaveOut(from, child.type === 'symlink' ? 'is a link' : 'is no regular file');
    else {
      const found = await job.files.look(from);
      if ('children' in found) await walk(job, found.children, { source: from, dest: to, mode: toMode(child) }, plan);
    }
  }
  if (isNew) plan.modes.push(() => chmodSync(dest, mode));
}

/** A name that leads nowhere else. */
function isPlainName(name: string): boolean {
  return name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name);
}

/** The mode without the bits that let a program run as its owner. */
function toMode({ mode }: FileEntry): number {
  return Number.parseInt(mode, 8) & PERMISSIONS;
}
