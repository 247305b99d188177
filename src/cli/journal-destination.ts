// systemd's journal as the destination of a log: JSON lines, each after its priority.
import { pino } from 'pino';
import { toJournalPrefix } from '../linux/systemd/journal.ts';
import type { LogDestination } from './log-destination.ts';

export class JournalDestination implements LogDestination {
  /** Asks pino to set `lastLevel` before each line. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  readonly isTimed = true;
  readonly #out: LogDestination;

  /** `out`: what is written to in place of `fd` itself. */
  constructor(fd: 1 | 2, out: LogDestination = openStream(fd)) {
    this.#out = out;
  }

  write(line: string): void {
    this.#out.write(toJournalPrefix(this.lastLevel) + line);
  }

  flushSync(): void {
    this.#out.flushSync?.();
  }
}

function openStream(fd: 1 | 2): LogDestination {
  // A log whose reader is gone must not end the daemon.
  return pino.destination({ dest: fd, sync: true }).on('error', () => undefined);
}
