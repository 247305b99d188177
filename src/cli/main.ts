// Runs one command of `remora`: finds it, loads it, prints errors, and returns the exit code.
import { readFileSync } from 'node:fs';
import type { Invocation, Output } from './command.ts';
import { daemonCommands } from './daemon-commands.ts';
import { exitCode, LostError, UnreachableError, UsageError } from './exit-code.ts';
import { type CommandLine, parseCommandLine } from './parse-command-line.ts';
import { toPlainSystemError } from './system-error.ts';

export interface CliOptions {
  /** The environment; that of the process when absent. */
  readonly env?: NodeJS.ProcessEnv;
  /** Standard output and error when absent. */
  readonly out?: Output;
}

/** Runs one command and resolves with its exit code. Never rejects. */
export async function runCli(words: readonly string[], options: CliOptions = {}): Promise<number> {
  const { env = process.env, out = createOutput() } = options;
  try {
    return await runLine(await readLine(words), env, out);
  } catch (error) {
    if (error instanceof UsageError) {
      out.note(`error: ${error.message}`);
      out.note('`remora --help` lists the commands; `remora COMMAND --help` their flags');
      return exitCode.usage;
    }
    out.note(`error: ${toPlainSystemError(error)}`);
    if (error instanceof LostError) return exitCode.lost;
    return error instanceof UnreachableError ? exitCode.unreachable : exitCode.failed;
  }
}

/** Throws UsageError. */
async function readLine(words: readonly string[]): Promise<CommandLine> {
  if (daemonCommands.some(({ name }) => name === words[0])) {
    const line = parseCommandLine(daemonCommands, words);
    if (line.type === 'run') return line;
  }
  const { commands } = await import('./commands.ts');
  return parseCommandLine(commands, words);
}

async function runLine(line: CommandLine, env: NodeJS.ProcessEnv, out: Output): Promise<number> {
  switch (line.type) {
    case 'overview':
    case 'help':
    case 'kind':
      for (const text of await toHelp(line)) out.line(text);
      return exitCode.ok;
    case 'version':
      out.line(readVersion());
      return exitCode.ok;
    case 'run': {
      const module = await line.command.load();
      const invocation: Invocation = {
        operands: line.operands,
        text(flag) {
          const value = line.values[flag];
          return typeof value === 'string' ? value : undefined;
        },
        texts(flag) {
          const value = line.values[flag];
          return Array.isArray(value) ? value : [];
        },
        has: (flag) => line.values[flag] !== undefined && line.values[flag] !== false,
        out,
        env,
        version: readVersion(),
      };
      return await module.run(invocation);
    }
    default:
      return line satisfies never;
  }
}

async function toHelp(line: Exclude<CommandLine, { type: 'run' | 'version' }>): Promise<readonly string[]> {
  const { toCommandHelp, toKindHelp, toOverview } = await import('./help.ts');
  if (line.type === 'kind') return toKindHelp(line.kind, line.commands);
  const { commands, kinds } = await import('./commands.ts');
  return line.type === 'help' ? toCommandHelp(line.command, commands) : toOverview(commands, kinds);
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const parsed: { version?: unknown } = JSON.parse(text);
  return String(parsed.version);
}

function createOutput(): Output {
  // `remora events | head -1`: a reader that closes the pipe is no error.
  let whenUnread: () => void = () => process.exit(exitCode.ok);
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    whenUnread();
  });
  // A closed standard error must not end a command before it has cleaned up.
  process.stderr.on('error', () => undefined);
  return {
    onUnread(listener) {
      whenUnread = listener;
    },
    line: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    colours: process.stdout.isTTY === true && process.env.NO_COLOR === undefined && process.env.TERM !== 'dumb',
  };
}
