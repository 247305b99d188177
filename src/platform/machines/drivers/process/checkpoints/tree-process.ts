// Copies trees in a process of its own, one job after the other.
import { type ChildProcess, fork } from 'node:child_process';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { toCompileCacheVariable } from '../../../../../linux/compile-cache.ts';
import type { TreeCounts, TreeJob, TreeMessage } from './tree/tree-message.ts';

export type OnTreeProgress = (counts: TreeCounts) => void;

export interface TreeProcess extends AsyncDisposable {
  /** Throws `storage_full`, `conflict` for an entry that cannot be read, and `internal`; `limit` ends the process and is then its reason. */
  run(job: TreeJob, onProgress?: OnTreeProgress, limit?: AbortSignal): Promise<TreeCounts>;
}

const FULL: readonly string[] = ['ENOSPC', 'EDQUOT'];
const DENIED: readonly string[] = ['EACCES', 'EPERM'];

/** Aborting `signal` ends it, and the job that it does with the reason. */
export async function openTreeProcess(signal: AbortSignal): Promise<TreeProcess> {
  signal.throwIfAborted();
  const child = fork(new URL('./tree/main.ts', import.meta.url), [], {
    execArgv: [],
    // Nothing of the platform's environment, which may hold keys.
    env: { ...(process.env.PATH === undefined ? {} : { PATH: process.env.PATH }), ...toCompileCacheVariable() },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  child.once('error', () => undefined);
  const onAbort = () => child.kill('SIGKILL');
  signal.addEventListener('abort', onAbort, { once: true });
  const dispose = async () => {
    signal.removeEventListener('abort', onAbort);
    child.kill('SIGKILL');
    await ended;
  };
  try {
    await answerOf(child, signal, () => undefined);
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    async run(job, onProgress = () => undefined, limit) {
      const either = limit === undefined ? signal : AbortSignal.any([signal, limit]);
      either.throwIfAborted();
      limit?.addEventListener('abort', onAbort, { once: true });
      try {
        const answer = answerOf(child, either, onProgress);
        child.send(job, () => undefined);
        return await answer;
      } finally {
        limit?.removeEventListener('abort', onAbort);
      }
    },
    [Symbol.asyncDispose]: dispose,
  };
}

/** Resolves with the next answer of the process that is no progress. */
async function answerOf(child: ChildProcess, signal: AbortSignal, onProgress: OnTreeProgress): Promise<TreeCounts> {
  const { promise, resolve, reject } = Promise.withResolvers<TreeCounts>();
  const onMessage = (message: TreeMessage) => {
    if (message.type === 'progress') onProgress(message);
    else if (message.type === 'failed') reject(toError(message));
    else resolve(message.type === 'ready' ? { files: 0, copied_bytes: 0, left_out: 0 } : message);
  };
  const onEnd = () => {
    reject(signal.aborted ? signal.reason : new RemoraError('internal', 'the process that copies files has ended'));
  };
  child.on('message', onMessage);
  child.once('close', onEnd);
  if (child.exitCode !== null || child.signalCode !== null) onEnd();
  try {
    return await promise;
  } finally {
    child.off('message', onMessage);
    child.off('close', onEnd);
  }
}

function toError({ code, relative, message }: Extract<TreeMessage, { type: 'failed' }>): RemoraError {
  const where = relative === undefined ? '' : ` at ${JSON.stringify(Buffer.from(relative, 'latin1').toString())}`;
  if (FULL.includes(code)) {
    return new RemoraError(
      'storage_full',
      `the disk of the machines is too full${where}: ${message}; nothing was changed`,
    );
  }
  if (DENIED.includes(code)) {
    const advice = 'give the user of the machine the right to read it, or remove it';
    return new RemoraError('conflict', `the files cannot be copied${where}: ${code}; ${advice}`);
  }
  return new RemoraError('internal', `the files cannot be copied${where}: ${code}`, { cause: new Error(message) });
}
