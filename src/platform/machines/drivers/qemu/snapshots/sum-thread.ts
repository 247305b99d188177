// The thread that sums one file, started by sum-in-thread.ts.
import { parentPort, workerData } from 'node:worker_threads';
import { errorCode } from '../../../../../core/error-code.ts';
import { toErrorMessage } from '../../../../../core/error-message.ts';
import { sumFile } from './sum-file.ts';
import type { SumAnswer, SumJob } from './sum-job.ts';

function answer(): SumAnswer {
  const { path, expected } = workerData as SumJob;
  try {
    return { type: 'sums', ...sumFile(path, expected) };
  } catch (error) {
    return { type: 'failed', code: errorCode(error), message: toErrorMessage(error) };
  }
}

parentPort?.postMessage(answer());
