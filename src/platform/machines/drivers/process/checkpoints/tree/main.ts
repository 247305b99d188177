// The process that copies trees for the platform, so that the platform's loop goes on. It does one job after the other and ends with the
// platform.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { dirname } from 'node:path';
import { errorCode } from '../../../../../../core/error-code.ts';
import { toErrorMessage } from '../../../../../../core/error-message.ts';
import { copyTree } from './copy-tree.ts';
import { parseIndex, serializeIndex } from './file-index.ts';
import { checkRoom } from './measure-tree.ts';
import type { CopyJob, TreeCounts, TreeJob, TreeMessage } from './tree-message.ts';

const PROGRESS_MS = 1_000;
const parent = process.ppid;

// Modes are those of the source.
process.umask(0);
process.on('disconnect', () => process.exit());
process.on('message', (job: TreeJob) => {
  try {
    send({ type: 'done', ...run(job) });
  } catch (error) {
    send({
      type: 'failed',
      code: errorCode(error) ?? 'internal',
      relative: error instanceof Error && 'relative' in error ? String(error.relative) : undefined,
      message: toErrorMessage(error),
    });
  }
});
send({ type: 'ready' });
// It is killed when its work is done, and what was compiled would be lost.
flushCompileCache();

function send(message: TreeMessage): void {
  process.send?.(message);
}

function run(job: TreeJob): TreeCounts {
  switch (job.type) {
    case 'sync':
      sync(job.path);
      return { files: 0, copied_bytes: 0, left_out: 0 };
    case 'copy':
      return copy(job);
    default:
      return job satisfies never;
  }
}

function sync(path: string): void {
  const { status, stderr } = spawnSync('sync', ['--file-system', '--', path], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`what was written cannot be kept for sure: ${stderr}`);
}

function copy({ base, index, ...job }: CopyJob): TreeCounts {
  const options = { ...job, base: base === undefined ? undefined : { tree: base.tree, index: readIndex(base.index) } };
  checkRoom(options, dirname(job.target));
  let told_ms = performance.now();
  const copied = copyTree({
    ...options,
    onStep({ files, copied_bytes, left_out }) {
      // Another platform may tidy up by now: nothing is written behind its back.
      if (process.ppid !== parent) process.exit();
      if (performance.now() - told_ms < PROGRESS_MS) return;
      told_ms = performance.now();
      send({ type: 'progress', files, copied_bytes, left_out });
    },
  });
  writeFileSync(index, serializeIndex(copied.index), { mode: 0o600 });
  const { files, copied_bytes, left_out } = copied;
  return { files, copied_bytes, left_out };
}

/** An index that cannot be read is empty: every file is copied. */
function readIndex(path: string): ReturnType<typeof parseIndex> {
  try {
    return parseIndex(readFileSync(path));
  } catch {
    return new Map();
  }
}
