// The platform as an operator starts it: a process on a directory, and the words that make records beside it.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const sources = new URL('../../../src/cli/remora.js', import.meta.url).pathname;
const MANY = '1000000';
/** Nothing that is measured here is to be a limit. */
const limits = ['connector-rate', 'connector-in-flight', 'sprite-rate', 'sprite-in-flight', 'token-rate'];

export interface PlatformProcess {
  readonly pid: number;
  readonly port: number;
  readonly url: string;
  end(): Promise<void>;
}

export interface PlatformProgram {
  /** The path of the command; that of the sources when absent. */
  readonly program?: string;
  /** Flags of Node. */
  readonly flags?: readonly string[];
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** `words` name the directory, the key, and what is more. */
export async function startPlatform(
  words: readonly string[],
  { program = sources, flags = [], env = {} }: PlatformProgram = {},
): Promise<PlatformProcess> {
  const noLimits = limits.flatMap((name) => [`--${name}`, MANY]);
  const child = spawn(process.execPath, [...flags, program, 'platform', '--port', '0', ...noLimits, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const { pid } = child;
  for await (const line of createInterface(child.stdout)) {
    const url = /"url":"([^"]+)"/.exec(line)?.[1];
    if (url === undefined || pid === undefined) continue;
    child.stdout.resume();
    return { pid, url, port: Number(new URL(url).port), end: () => endProcess(child) };
  }
  throw new Error('the platform ended before it served');
}

/** `remora platform …`: what it printed. */
export async function runPlatform(
  words: readonly string[],
  { program = sources, env = {} }: PlatformProgram = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, 'platform', ...words], {
    env: { ...process.env, ...env },
  });
  return stdout.trim();
}

export async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}
