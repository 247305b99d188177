// Running the `remora` command as a person would: a process of its own, its output and its exit code.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { LAUNCHER } from '../../src/cli/package/started-files.ts';

/** The command from its sources. */
export const sourcePath = new URL('../../src/cli/remora.js', import.meta.url).pathname;

/** The built command, or with REMORA_TEST_SOURCES=1 the one from its sources. */
export const remoraPath = process.env.REMORA_TEST_PROGRAM ?? sourcePath;

/** The script that finds a Node for the command from its sources. */
export const sourceLauncherPath = new URL('../../bin/remora', import.meta.url).pathname;

/** The one for the built command. */
export const launcherPath = remoraPath === sourcePath ? sourceLauncherPath : join(dirname(remoraPath), LAUNCHER);

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
  /** The path of the command; the built one when absent. */
  readonly program?: string;
  /** What it reads; nothing when absent. */
  readonly input?: string;
}

/** Runs to the end. A process that does not end is killed with the test. */
export async function runRemora(words: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const child = spawn(options.node ?? process.execPath, [options.program ?? remoraPath, ...words], {
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
