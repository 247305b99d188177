// Passes the node's stream to any number of readers over one connection. Each reader gets `init` first and ends with the
// connection, as it would at the node itself, so that a reader sees the same possible gap that the agent has.
import { type ReplicationEvent, replicationLine } from '../../../contract/replication.ts';
import { type Primary, toPrimaryStatus } from '../../../core/replication/primary-status.ts';
import type { EventSink } from '../../../http/event-sink.ts';
import type { ReaderWrites } from './reader-writes.ts';

export interface EventReaders {
  /** Sends `init` now, or once the node is connected; until then the reader waits on an open stream. */
  add(sink: EventSink<ReplicationEvent>, primary: Primary): void;
  /** `initLine` is the line as the node sent it. */
  connected(initLine: string): void;
  /** Takes each line after `init` as the node sent it, also of unknown types. The next `flush` writes it. */
  send(line: string): void;
  flush(): void;
  disconnected(): void;
  /** The first line for a new reader; undefined while the node is not connected. */
  initLine(primary: Primary): string | undefined;
  readonly size: number;
}

export function createEventReaders(writes: ReaderWrites): EventReaders {
  const reading = new Set<EventSink<ReplicationEvent>>();
  const waiting = new Set<EventSink<ReplicationEvent>>();
  let init: string | undefined;
  let lines: string[] = [];

  /** Makes one write of all lines of one read, because a write for each line would cost more than all other work. */
  function flush(): void {
    if (lines.length === 0) return;
    const sent = lines;
    lines = [];
    writes.toAll(sent, reading);
  }

  return {
    add(sink, primary) {
      sink.open();
      if (sink.closed) return;
      flush();
      const group = init === undefined ? waiting : reading;
      group.add(sink);
      sink.onClose(() => {
        reading.delete(sink);
        waiting.delete(sink);
      });
      if (init !== undefined) sink.sendText(toInitLine(init, primary));
    },
    connected(initLine) {
      init = initLine;
      for (const sink of waiting) {
        waiting.delete(sink);
        reading.add(sink);
        writes.toAll([initLine], [sink]);
      }
    },
    send(line) {
      if (reading.size > 0) lines.push(line);
    },
    flush,
    disconnected() {
      flush();
      init = undefined;
      writes.endAll(reading);
    },
    initLine: (primary) => (init === undefined ? undefined : toInitLine(init, primary)),
    get size() {
      return reading.size + waiting.size;
    },
  };
}

/** The node's own `init`, with its unknown fields, and the current primary in place of the one at the time. */
function toInitLine(init: string, primary: Primary): string {
  const line = replicationLine.parse(JSON.parse(init));
  const data = typeof line.data === 'object' && line.data !== null ? { ...line.data } : {};
  if ('hostname' in data) delete data.hostname;
  return JSON.stringify({ ...line, data: { ...data, ...toPrimaryStatus(primary) } });
}
