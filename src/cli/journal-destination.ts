// systemd's journal as the destination of a log: JSON lines, each after its priority.
import { pino } from 'pino';
import { toJournalPrefix } from '../linux/systemd/journal.ts';
import type { LogDestination } from './log-destination.ts';

export class JournalDestination implements LogDestination {
  /** Asks pino to set `lastLevel` before each line. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  readonly isTimed = true;
  readonly #stream: ReturnType<typeof pino.destination>;

  constructor(fd: 1 | 2) {
    this.#stream = pino.destination({ dest: fd, sync: true });
    // A log whose reader is gone must not end the daemon.
    this.#stream.on('error', () => undefined);
  }

  write(line: string): void {
    this.#stream.write(toJournalPrefix(this.lastLevel) + line);
  }
}
