// Where the log of a daemon goes: to a terminal as lines for people, anywhere else as JSON, to systemd's journal with the priority of
// each line.
import { isatty } from 'node:tty';
import { isJournalStream } from '../linux/systemd/journal.ts';

export interface LogDestination {
  write(line: string): unknown;
  /** Writes what is held. pino calls it after a fatal line. */
  flushSync?(): void;
  /** The reader notes the time of each line by itself, so that a line has none. */
  readonly isTimed?: boolean;
}

/**
 * Undefined where plain JSON is wanted. `fd`: 1 or 2. With `holds` the lines of a log that writes many of them are held for a moment, to be
 * written together.
 */
export async function openLogDestination(
  fd: 1 | 2,
  env: NodeJS.ProcessEnv,
  { holds = false } = {},
): Promise<LogDestination | undefined> {
  const open = async () => (holds ? new (await import('./held-lines.ts')).HeldLines(fd) : undefined);
  if (isJournalStream(fd, env)) {
    return new (await import('./journal-destination.ts')).JournalDestination(fd, await open());
  }
  if (!isatty(fd)) return await open();
  const { toLogLine } = await import('../core/log-line.ts');
  const colours = env.NO_COLOR === undefined && env.TERM !== 'dumb';
  const stream = fd === 1 ? process.stdout : process.stderr;
  return { write: (line) => void stream.write(toLogLine(line, colours)) };
}
