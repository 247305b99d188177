// Copies one file with its mode, its owner and its times. Blocks are shared where the file system can do that, and holes stay holes.
import { spawnSync } from 'node:child_process';
import {
  type BigIntStats,
  closeSync,
  constants,
  copyFileSync,
  fchmodSync,
  fchownSync,
  fstatSync,
  futimesSync,
  openSync,
} from 'node:fs';
import { toDescriptorPath } from './walk-tree.ts';

/** A file that takes this much less space than its length has holes. */
const HOLES_BYTES = 1024n * 1024n;
const BLOCK_BYTES = 512n;
const PERMISSIONS = 0o7777;
const ROOT = 0;
/** Never waits for the other end of a pipe that has taken the place of the file. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

export interface CopiedFile {
  readonly source: BigIntStats;
  readonly target: BigIntStats;
}

/** `target` does not exist yet. Undefined when the source is no file any more. Throws the error of the kernel. */
export function copyFile(source: Buffer, target: Buffer): CopiedFile | undefined {
  const from = openSync(source, READ);
  try {
    const stat = fstatSync(from, { bigint: true });
    if (!stat.isFile()) return undefined;
    const to = openSync(target, CREATE, 0o600);
    try {
      copyContent(from, to, stat);
      if (process.geteuid?.() === ROOT) fchownSync(to, Number(stat.uid), Number(stat.gid));
      fchmodSync(to, Number(stat.mode) & PERMISSIONS);
      futimesSync(to, toSeconds(stat.atimeNs), toSeconds(stat.mtimeNs));
      return { source: stat, target: fstatSync(to, { bigint: true }) };
    } finally {
      closeSync(to);
    }
  } finally {
    closeSync(from);
  }
}

export function toSeconds(ns: bigint): number {
  return Number(ns) / 1e9;
}

function copyContent(from: number, to: number, stat: BigIntStats): void {
  if (stat.size === 0n) return;
  const [source, target] = [toDescriptorPath(from), toDescriptorPath(to)];
  if (stat.blocks * BLOCK_BYTES + HOLES_BYTES >= stat.size) {
    copyFileSync(source, target, constants.COPYFILE_FICLONE);
    return;
  }
  const words = ['--reflink=auto', '--sparse=always', '--', String(source), String(target)];
  const { status, stderr } = spawnSync('cp', words, {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C' },
  });
  if (status === 0) return;
  const code = stderr?.includes('No space left') === true ? 'ENOSPC' : 'EIO';
  throw Object.assign(new Error(`${code}: a file with holes cannot be copied: ${stderr ?? ''}`), { code });
}
