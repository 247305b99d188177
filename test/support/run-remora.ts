// Running the `remora` command as a person would: a process of its own, its output and its exit code.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export const remoraPath = new URL('../../src/cli/remora.js', import.meta.url).pathname;

export interface RunResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Added to the environment; `undefined` takes a variable out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly node?: string;
  readonly cwd?: string;
  /** What it reads; nothing when absent. */
  readonly input?: string;
}

/** Runs to the end. A process that does not end is killed with the test. */
export async function runRemora(words: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const child = spawn(options.node ?? process.execPath, [remoraPath, ...words], {
    env: { ...process.env, REMORA_SOCKET: undefined, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  child.stdin.on('error', () => undefined).end(options.input ?? '');
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code]: (number | null)[] = await once(child, 'close');
  return { code: code ?? null, stdout, stderr };
}
