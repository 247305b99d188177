// Runs a tool of the host on the files of a machine, and waits for its end.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { RemoraError } from '../../../../core/remora-error.ts';

const run = promisify(execFile);
const LIMIT_MS = 120_000;
const OUTPUT_BYTES = 1024 * 1024;
const FULL = /No space left on device|Disk quota exceeded/;

/** Resolves with what it printed. Throws `storage_full`, `not_configured` when the tool is not there, and `internal` with what it said. */
export async function runTool(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    const options = { cwd, timeout: LIMIT_MS, maxBuffer: OUTPUT_BYTES, env: { PATH: process.env.PATH ?? '' } };
    return (await run(command, args, options)).stdout;
  } catch (cause) {
    throw toError(command, cause);
  }
}

function toError(command: string, cause: unknown): RemoraError {
  const { code, stderr } = cause as { code?: unknown; stderr?: unknown };
  if (code === 'ENOENT') {
    return new RemoraError('not_configured', `this host has no ${command}; install it`, { cause });
  }
  if (typeof stderr === 'string' && FULL.test(stderr)) {
    return new RemoraError('storage_full', 'the disk of the machines is full; nothing was changed', { cause });
  }
  return new RemoraError('internal', `${command} has failed`, { cause });
}
