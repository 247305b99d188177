// Runs a program to its end.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How long it took, in milliseconds. Throws when it fails. */
export async function runTimed(command: string, args: readonly string[]): Promise<number> {
  const begun_ms = performance.now();
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${command} ended with ${code}`);
  return performance.now() - begun_ms;
}
