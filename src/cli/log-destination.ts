// Where the log of a daemon goes: to a terminal as lines for people, anywhere else as JSON, to systemd's journal with the priority of
// each line.
import { isatty } from 'node:tty';
import { isJournalStream } from '../linux/systemd/journal.ts';

export interface LogDestination {
  write(line: string): void;
  /** The reader notes the time of each line by itself, so that a line has none. */
  readonly isTimed?: boolean;
}

/** Undefined where plain JSON is wanted. `fd`: 1 or 2. */
export async function openLogDestination(fd: 1 | 2, env: NodeJS.ProcessEnv): Promise<LogDestination | undefined> {
  if (isJournalStream(fd, env)) return new (await import('./journal-destination.ts')).JournalDestination(fd);
  if (!isatty(fd)) return undefined;
  const { toLogLine } = await import('../core/log-line.ts');
  const colours = env.NO_COLOR === undefined && env.TERM !== 'dumb';
  const stream = fd === 1 ? process.stdout : process.stderr;
  return { write: (line) => void stream.write(toLogLine(line, colours)) };
}
