// `remora` from its words to an exit code: finds the command, loads it, and says what went wrong.
import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import type { Invocation, Output } from './command.ts';
import { commands } from './commands.ts';
import { AgentUnreachableError, exitCode, UsageError } from './exit-code.ts';
import { toCommandHelp, toOverview } from './help.ts';
import { type CommandLine, parseCommandLine } from './parse-command-line.ts';

/** Runs one command and resolves with its exit code. Never rejects. */
export async function runCli(words: readonly string[]): Promise<number> {
  const out = createOutput();
  try {
    return await runLine(parseCommandLine(commands, words), out);
  } catch (error) {
    if (error instanceof UsageError) {
      out.note(`error: ${error.message}`);
      out.note('`remora --help` lists the commands; `remora COMMAND --help` their flags');
      return exitCode.usage;
    }
    out.note(`error: ${toText(error)}`);
    return error instanceof AgentUnreachableError ? exitCode.unreachable : exitCode.failed;
  }
}

async function runLine(line: CommandLine, out: Output): Promise<number> {
  switch (line.type) {
    case 'overview':
      for (const text of toOverview(commands)) out.line(text);
      return exitCode.ok;
    case 'version':
      out.line(readVersion());
      return exitCode.ok;
    case 'help':
      for (const text of toCommandHelp(line.command)) out.line(text);
      return exitCode.ok;
    case 'run': {
      const module = await line.command.load();
      const invocation: Invocation = {
        operands: line.operands,
        text(flag) {
          const value = line.values[flag];
          return typeof value === 'string' ? value : undefined;
        },
        has: (flag) => line.values[flag] !== undefined && line.values[flag] !== false,
        out,
        env: process.env,
        version: readVersion(),
      };
      return await module.run(invocation);
    }
    default:
      return line satisfies never;
  }
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const parsed: { version?: unknown } = JSON.parse(text);
  return String(parsed.version);
}

function createOutput(): Output {
  // `remora events | head -1`: the reader has what it wanted, and nothing is wrong.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(exitCode.ok);
    throw error;
  });
  return {
    line: (text) => void process.stdout.write(`${text}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    colours: isatty(1) && process.env.NO_COLOR === undefined && process.env.TERM !== 'dumb',
  };
}

/** `message (code)` for an error that has a code, the message alone for any other. */
function toText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code === undefined || error.message.includes(code) ? error.message : `${error.message} (${code})`;
}
