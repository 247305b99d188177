// Runs a tool of the system to its end and keeps the end of what it said.
import { spawn } from 'node:child_process';
import { errorCode } from '../../core/error-code.ts';
import { RemoraError } from '../../core/remora-error.ts';

export interface ToolOptions {
  readonly cwd?: string;
  /** Added to `PATH` and the settings of a proxy, which are all that it inherits. */
  readonly env?: Readonly<Record<string, string>>;
  /** What it reads; nothing otherwise. */
  readonly input?: string;
  readonly limit_ms?: number;
  /** How much it may print on its standard output; more ends it. */
  readonly output_bytes?: number;
}

const LIMIT_MS = 120_000;
const OUTPUT_BYTES = 16 * 1024 * 1024;
const SAID_BYTES = 2_000;
const inherited = ['PATH', 'HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];

/** Resolves with its standard output. Throws `not_configured` when the tool is not there, and `internal` with its last words when it fails. */
export async function runTool(command: string, args: readonly string[], options: ToolOptions = {}): Promise<Buffer> {
  const { cwd, env, input = '', limit_ms = LIMIT_MS, output_bytes = OUTPUT_BYTES } = options;
  const own = inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]));
  const child = spawn(command, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...Object.fromEntries(own), LC_ALL: 'C', ...env },
    signal: AbortSignal.timeout(limit_ms),
    killSignal: 'SIGKILL',
  });
  const chunks: Buffer[] = [];
  let printed_bytes = 0;
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    printed_bytes += chunk.length;
    if (printed_bytes > output_bytes) child.kill('SIGKILL');
    else chunks.push(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-SAID_BYTES);
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const end = await new Promise<{ readonly code: number | null; readonly error?: unknown }>((resolve) => {
    child.once('error', (error) => resolve({ code: null, error }));
    child.once('close', (code) => resolve({ code }));
  });
  if (errorCode(end.error) === 'ENOENT') {
    throw new RemoraError('not_configured', `this host has no ${command}; install it`, { cause: end.error });
  }
  if (end.code !== 0) {
    const why = said.trim() || (end.error instanceof Error ? end.error.message : 'it said nothing');
    throw new RemoraError('internal', `${command} has failed: ${why}`, { cause: end.error });
  }
  return Buffer.concat(chunks);
}
