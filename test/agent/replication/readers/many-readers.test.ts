// What a hundred readers get at once is written in several turns of the event loop, whole and in order.
import { expect, test } from 'vitest';
import { toStreamPage } from '../../../../src/agent/replication/cache/cached-page.ts';
import { createEventReaders } from '../../../../src/agent/replication/readers/event-readers.ts';
import { createReaderWrites } from '../../../../src/agent/replication/readers/reader-writes.ts';
import type { ReplicationEvent } from '../../../../src/contract/replication.ts';
import type { EventSink } from '../../../../src/http/event-sink.ts';
import { countSteps } from '../../../support/count-turns.ts';

const READERS = 100;

/** A reader that keeps what it is given. */
function keepingSink(onWrite: () => void) {
  const lines: string[] = [];
  const sink: EventSink<ReplicationEvent> = {
    open: () => undefined,
    send: (event) => lines.push(JSON.stringify(event)),
    sendText: (json) => lines.push(json),
    sendTexts(jsons) {
      onWrite();
      lines.push(...jsons);
    },
    end: () => lines.push('end'),
    fail: () => undefined,
    onClose: () => undefined,
    closed: false,
    waiting_bytes: 0,
  };
  return { sink, lines };
}

function openReaders() {
  const writes = createReaderWrites();
  const readers = createEventReaders(writes);
  const { step, perTurn } = countSteps();
  readers.connected('{"type":"init","data":{"isPrimary":true}}');
  const sinks = Array.from({ length: READERS }, () => keepingSink(step));
  for (const { sink } of sinks) readers.add(sink, { type: 'self' });
  return { writes, readers, sinks, perTurn };
}

test('a line of 1 MB is copied for sixteen readers in a turn, and what follows it comes after it', async () => {
  const { writes, readers, sinks, perTurn } = openReaders();
  const long = 'x'.repeat(1_000_000);
  readers.send(long);
  readers.flush();
  readers.send('next');
  readers.disconnected();
  await writes.done();
  const [first = 0, ...others] = perTurn();
  expect(first).toBeLessThanOrEqual(16);
  expect(others.length).toBeGreaterThanOrEqual(6);
  for (const { lines } of sinks) expect(lines.slice(1)).toEqual([long, 'next', 'end']);
});

test('a short line is written for all of them in one turn', () => {
  const { writes, readers, sinks, perTurn } = openReaders();
  readers.send('short');
  readers.flush();
  expect(writes.done()).toBeUndefined();
  expect(sinks.every(({ lines }) => lines.at(-1) === 'short')).toBe(true);
  return new Promise((resolve) => setImmediate(resolve)).then(() => expect(perTurn()).toEqual([READERS]));
});

test('pages of 1,000 rows for twenty readers are parsed a few hundred rows in each turn', async () => {
  const { step, perTurn } = countSteps();
  const hex = 'c000000000000001';
  const toRow = (seq: number) => ({
    get db() {
      step();
      return 'a';
    },
    row: `${seq} ${hex} tx ${hex} 4096 3 2026-01-01T00:00:00Z 1767225600000 live`,
  });
  const rows = Array.from({ length: 1_000 }, (_, seq) => toRow(seq));
  const pages = Array.from({ length: 20 }, () => toStreamPage({ type: 'stream', oldest: 0, rows }));
  const parsed = await Promise.all(pages);
  expect(parsed.map((page) => page.rows.length)).toEqual(Array.from({ length: 20 }, () => 1_000));
  expect(perTurn().reduce((sum, count) => sum + count, 0)).toBe(20_000);
  expect(Math.max(...perTurn())).toBeLessThan(500);
});
