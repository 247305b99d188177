// The node's stream for any number of readers over the one connection. Each begins with init; each ends when the connection
// ends, as it would at the node itself, so that a reader sees the same possible gap that the agent has.
import { type ReplicationEvent, replicationLine } from '../../contract/replication.ts';
import { type Primary, toPrimaryStatus } from '../../core/primary-status.ts';
import type { EventSink } from '../../http/event-sink.ts';

export interface EventReaders {
  /** Sends init now, or once the node is connected: until then the reader waits on an open stream and is told nothing. */
  add(sink: EventSink<ReplicationEvent>, primary: Primary): void;
  /** `initLine` as the node sent it. */
  connected(initLine: string): void;
  /** Every line after init, as the node sent it: unknown types and fields too. It goes out with the next `flush`. */
  send(line: string): void;
  flush(): void;
  disconnected(): void;
  /** The first line for a reader that comes now; undefined while the node is not connected. */
  initLine(primary: Primary): string | undefined;
  readonly size: number;
}

export function createEventReaders(): EventReaders {
  const reading = new Set<EventSink<ReplicationEvent>>();
  const waiting = new Set<EventSink<ReplicationEvent>>();
  let init: string | undefined;
  let lines: string[] = [];

  /** One write for all lines of one read: a write for each of them costs more than all the rest. */
  function flush(): void {
    if (lines.length === 0) return;
    const sent = lines;
    lines = [];
    for (const sink of reading) sink.sendTexts(sent);
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
        sink.sendText(initLine);
      }
    },
    send(line) {
      if (reading.size > 0) lines.push(line);
    },
    flush,
    disconnected() {
      flush();
      init = undefined;
      for (const sink of reading) sink.end();
    },
    initLine: (primary) => (init === undefined ? undefined : toInitLine(init, primary)),
    get size() {
      return reading.size + waiting.size;
    },
  };
}

/** The node's own init, with fields that are not known here, and the primary of now in place of the one of then. */
function toInitLine(init: string, primary: Primary): string {
  const line = replicationLine.parse(JSON.parse(init));
  const data = typeof line.data === 'object' && line.data !== null ? { ...line.data } : {};
  if ('hostname' in data) delete data.hostname;
  return JSON.stringify({ ...line, data: { ...data, ...toPrimaryStatus(primary) } });
}
