// Removes a tree, whatever its names are and however deep it is, in a process of its own.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { RemoraError } from '../../../../../core/remora-error.ts';

/** Does nothing when there is none. Throws `internal` when something stays. */
export async function removeTree(path: string): Promise<void> {
  if (await runs('rm', ['-rf', '--one-file-system', '--', path])) return;
  // Who is not root needs rights of its own to empty a directory.
  await runs('chmod', ['-R', 'u+rwX', '--', path]);
  if (await runs('rm', ['-rf', '--one-file-system', '--', path])) return;
  throw new RemoraError('internal', `${path} cannot be removed`);
}

async function runs(command: string, args: readonly string[]): Promise<boolean> {
  const child = spawn(command, args, { stdio: 'ignore', cwd: '/' });
  const [code] = await once(child, 'close');
  return code === 0;
}
