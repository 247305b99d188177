// Runs a tool of the host on the files of a machine, and waits for its end.
import { RemoraError } from '../../../../core/remora-error.ts';
import { runTool as run } from '../../../../linux/processes/run-tool.ts';

const FULL = /No space left on device|Disk quota exceeded/;

/** Resolves with what it printed. Throws `storage_full`, `not_configured` when the tool is not there, and `internal` with what it said. */
export async function runTool(command: string, args: readonly string[], cwd: string): Promise<string> {
  try {
    return (await run(command, args, { cwd })).toString();
  } catch (error) {
    if (!(error instanceof Error) || !FULL.test(error.message)) throw error;
    const message = 'the disk of the machines is full; nothing was changed';
    throw new RemoraError('storage_full', message, { cause: error });
  }
}
