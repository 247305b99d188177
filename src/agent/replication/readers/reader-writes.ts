// Writes the lines of the node to many readers, to some of them in each turn of the loop: each write is a copy of all bytes.
import { createPacedCalls } from '../../../core/paced-calls.ts';
import type { EventSink } from '../../../http/event-sink.ts';

/** Two or three milliseconds of copying. */
const TURN_BYTES = 4 * 1024 * 1024;
/** What a write costs beside its bytes. */
const WRITE_BYTES = 16 * 1024;
/** A socket takes no more at once; the rest of a write is copied when its reader has read. */
const SOCKET_BYTES = 256 * 1024;

type ReaderSink = Pick<EventSink<never>, 'sendTexts' | 'end'>;

/** A sink gets everything in the order of the calls, and nothing that was written before the first call with it. */
export interface ReaderWrites {
  toAll(lines: readonly string[], sinks: Iterable<ReaderSink>): void;
  /** Ends the streams once everything is written to them. */
  endAll(sinks: Iterable<ReaderSink>): void;
  /** Resolves when everything is written; undefined when it is. */
  done(): Promise<void> | undefined;
}

export function createReaderWrites(): ReaderWrites {
  const calls = createPacedCalls(TURN_BYTES);
  return {
    toAll(lines, sinks) {
      const bytes = lines.reduce((sum, line) => sum + line.length, 0);
      const cost = WRITE_BYTES + Math.min(bytes, SOCKET_BYTES);
      for (const sink of sinks) calls.add(cost, () => sink.sendTexts(lines));
    },
    endAll(sinks) {
      for (const sink of [...sinks]) calls.add(WRITE_BYTES, () => sink.end());
    },
    done: calls.done,
  };
}
