// Writes lines of a log so that systemd's journal takes them with their priority (sd-daemon(3)).
import { fstatSync } from 'node:fs';

/** The levels of the log as those of syslog: debug, info, warning, error, critical. */
const PRIORITIES: readonly (readonly [level: number, priority: number])[] = [
  [60, 2],
  [50, 3],
  [40, 4],
  [30, 6],
];
const DEBUG = 7;

/** What goes before a line of this level; the journal cuts it off. Pure. */
export function toJournalPrefix(level: number): string {
  return `<${PRIORITIES.find(([from]) => level >= from)?.[1] ?? DEBUG}>`;
}

/** Whether what is written to `fd` goes to the journal: JOURNAL_STREAM names the device and the inode of that stream. */
export function isJournalStream(fd: number, env: NodeJS.ProcessEnv): boolean {
  const named = env.JOURNAL_STREAM;
  if (named === undefined || named === '') return false;
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return named === `${dev}:${ino}`;
  } catch {
    return false;
  }
}
