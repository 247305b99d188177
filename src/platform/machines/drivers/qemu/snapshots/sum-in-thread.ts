// Sums a file in a thread of its own: a gigabyte takes most of a second.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { RemoraError } from '../../../../../core/remora-error.ts';
import type { FileSums } from './sum-file.ts';
import type { SumAnswer, SumJob } from './sum-job.ts';

const LIMIT_MS = 120_000;

/** Throws `not_found` when there is no such file, and `internal`. */
export async function sumInThread(path: string, expected?: readonly number[]): Promise<FileSums> {
  const job: SumJob = { path, expected };
  const thread = new Worker(new URL('./sum-thread.ts', import.meta.url), {
    workerData: job,
    env: {},
    execArgv: [],
    stdin: false,
  });
  try {
    const [answer]: SumAnswer[] = await once(thread, 'message', { signal: AbortSignal.timeout(LIMIT_MS) });
    if (answer?.type === 'sums') return { size_bytes: answer.size_bytes, sums: answer.sums };
    const code = answer?.code === 'ENOENT' ? 'not_found' : 'internal';
    throw new RemoraError(code, 'a file of the snapshot cannot be read', { cause: new Error(answer?.message) });
  } finally {
    await thread.terminate();
  }
}

/** Whether the file is what was summed. */
export async function isUnchanged(path: string, before: FileSums): Promise<boolean> {
  const now = await sumInThread(path, before.sums);
  return now.size_bytes === before.size_bytes && now.sums.length === before.sums.length && areEqual(now, before);
}

function areEqual(now: FileSums, before: FileSums): boolean {
  return now.sums.every((sum, index) => sum === before.sums[index]);
}
