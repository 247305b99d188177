// Readers of the stream that say where they stopped: first what the cache holds after that, then what comes, each line with a
// cursor to go on from and each gap as a line (contract/DECISIONS.md, "since of /events").
import { setTimeout as sleep } from 'node:timers/promises';
import type { ReaderGap } from '../../../contract/local/replication.ts';
import type { ReplicationEvent } from '../../../contract/replication.ts';
import { type Primary, toPrimaryStatus } from '../../../core/replication/primary-status.ts';
import type { EventSink } from '../../../http/event-sink.ts';
import type { CacheWriter } from '../cache/cache-writer.ts';
import type { ReplicaStep } from '../replica.ts';
import { toGapLine, toTrimmedLine, withCursor } from './cursor-lines.ts';
import { createCursorPages } from './cursor-pages.ts';
import type { ReaderWrites } from './reader-writes.ts';

/** The next page is read when fewer bytes than this wait for the reader. */
const AHEAD_BYTES = 512 * 1024;
const PACE_MS = 20;
/** How many bytes of new lines are kept while a reader gets pages. When more come, they are read from the cache as well. */
const PENDING_BYTES = 2 * 1024 * 1024;

export type CursorSink = EventSink<ReplicationEvent | ReaderGap>;

export interface CursorReaders {
  /** `since` undefined: only new lines. `initLine` undefined: the node is not connected, and the reader waits. */
  add(sink: CursorSink, since: number | undefined, initLine: string | undefined): void;
  connected(initLine: string): void;
  /** Sends a line that has no row in the cache. */
  send(line: string): void;
  /** `seq` is the number of the transaction's row; undefined when it has none. */
  sendTransaction(line: string, db: string, step: ReplicaStep, seq: number | undefined): void;
  flush(): void;
  disconnected(): void;
  readonly size: number;
}

interface Reader {
  readonly sink: CursorSink;
  since: number | undefined;
  state: 'waiting' | 'replaying' | 'live';
  pending: (readonly string[])[];
  pending_bytes: number;
  overflowed: boolean;
}

export function createCursorReaders(
  cache: Pick<CacheWriter, 'stream' | 'last_seq' | 'condition'>,
  primary: () => Primary,
  writes: ReaderWrites,
): CursorReaders {
  const readers = new Set<Reader>();
  const pages = createCursorPages(cache);
  let lines: string[] = [];

  function flush(): void {
    if (lines.length === 0) return;
    const sent = lines;
    lines = [];
    const bytes = sent.reduce((sum, line) => sum + line.length, 0);
    for (const reader of readers) if (reader.state === 'replaying') keep(reader, sent, bytes);
    writes.toAll(sent, sinksOf('live'));
  }

  function* sinksOf(...states: Reader['state'][]): Generator<CursorSink> {
    for (const reader of readers) if (states.includes(reader.state)) yield reader.sink;
  }

  function keep(reader: Reader, sent: readonly string[], bytes: number): void {
    reader.pending.push(sent);
    reader.pending_bytes += bytes;
    if (reader.pending_bytes <= PENDING_BYTES) return;
    reader.overflowed = true;
    empty(reader);
  }

  function begin(reader: Reader, initLine: string): void {
    reader.sink.sendText(initLine);
    if (reader.since === undefined) reader.state = 'live';
    else void replay(reader, reader.since);
  }

  /** Sends pages up to the newest row, and repeats it while more new lines come than are kept. */
  async function replay(reader: Reader, since: number): Promise<void> {
    const { sink } = reader;
    reader.state = 'replaying';
    let at = since;
    if (since > cache.last_seq) {
      sink.sendText(toTrimmedLine(0));
      at = 0;
    }
    do {
      flush();
      empty(reader);
      const until = cache.last_seq;
      reader.overflowed = false;
      while (at < until) {
        const next = await sendPage(sink, at, until);
        if (next === undefined) return;
        at = next;
      }
    } while (reader.overflowed);
    if (sink.closed) return;
    for (const sent of reader.pending) sink.sendTexts(sent);
    empty(reader);
    reader.state = 'live';
    sink.sendText(JSON.stringify({ type: 'primaryChange', data: toPrimaryStatus(primary()) }));
  }

  /** Returns the number of the last row sent; undefined when the reader is gone or the cache cannot be read. */
  async function sendPage(sink: CursorSink, at: number, until: number): Promise<number | undefined> {
    const page = await pages.read(at, until);
    if (sink.closed) return undefined;
    if (page === undefined) {
      sink.fail('not_ready', cache.condition.reason ?? 'the cache cannot be read');
      return undefined;
    }
    sink.sendTexts(page.lines);
    while (!sink.closed && sink.waiting_bytes > AHEAD_BYTES) await sleep(PACE_MS, undefined, { ref: false });
    return sink.closed ? undefined : page.last;
  }

  return {
    add(sink, since, initLine) {
      sink.open();
      if (sink.closed) return;
      const reader: Reader = { sink, since, state: 'waiting', pending: [], pending_bytes: 0, overflowed: false };
      flush();
      readers.add(reader);
      sink.onClose(() => readers.delete(reader));
      if (initLine !== undefined) begin(reader, initLine);
    },
    connected(initLine) {
      for (const reader of readers) if (reader.state === 'waiting') begin(reader, initLine);
    },
    send(line) {
      if (readers.size > 0) lines.push(line);
    },
    sendTransaction(line, db, step, seq) {
      if (readers.size === 0) return;
      if (seq !== undefined && step.missed !== undefined) {
        lines.push(toGapLine(db, step.missed, step.cause, seq - 1));
      }
      lines.push(seq === undefined ? line : withCursor(line, seq));
    },
    flush,
    disconnected() {
      flush();
      writes.endAll(sinksOf('live', 'replaying'));
    },
    get size() {
      return readers.size;
    },
  };
}

function empty(reader: Reader): void {
  reader.pending = [];
  reader.pending_bytes = 0;
}
