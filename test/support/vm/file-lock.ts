// A lock between processes that ends with its holder, however that ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs `work` while nobody else holds the lock of this file, which is made. */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const holder = spawn('flock', [path, 'sh', '-c', 'echo held; exec cat'], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(holder, 'close');
  try {
    await Promise.race([
      once(holder.stdout, 'data'),
      ended.then(() => Promise.reject(new Error(`no lock of ${path}`))),
    ]);
    return await work();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
