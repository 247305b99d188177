// Where the log of a daemon goes: to a terminal as lines for people, anywhere else as JSON.
import { isatty } from 'node:tty';

export interface LogDestination {
  write(line: string): void;
}

/** Undefined where JSON is wanted. `fd`: 1 or 2. */
export async function openLogDestination(fd: 1 | 2, env: NodeJS.ProcessEnv): Promise<LogDestination | undefined> {
  if (!isatty(fd)) return undefined;
  const { toLogLine } = await import('../core/log-line.ts');
  const colours = env.NO_COLOR === undefined && env.TERM !== 'dumb';
  const stream = fd === 1 ? process.stdout : process.stderr;
  return { write: (line) => void stream.write(toLogLine(line, colours)) };
}
