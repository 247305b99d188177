// How many transactions a second the follower can read with its own line framing and with split2: lines that a LiteFS node has sent,
// in chunks as a socket gives them, framed only, and framed, parsed and recorded as the follower does. And what one long line costs
// that comes in small pieces: `npm run bench:framing`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import split2 from 'split2';
import { createCacheThread } from '../../src/agent/replication/cache/cache-thread.ts';
import { openCacheWriter } from '../../src/agent/replication/cache/cache-writer.ts';
import { parseStreamLine } from '../../src/agent/replication/follow/stream-line.ts';
import { createReplica } from '../../src/agent/replication/replica.ts';
import { systemClock } from '../../src/core/clock.ts';
import { toLineSlices } from '../../src/core/line-slices.ts';
import { createLineFramer, LINE_LIMIT_BYTES } from '../../src/core/ndjson.ts';
import { type Figure, percentile, printTable } from './table.ts';

const TRANSACTIONS = 300_000;
const CHUNK_BYTES = 32 * 1024;
const ROUNDS = 5;
const BAR = 100_000;
/** What a node that means harm sends: one line just below the limit, without an end. */
const PIECE_BYTES = 64;
/** A slice of work before the event loop gets a turn, as in the follower. */
const SLICE_MS = 2;

type OnLine = (line: string) => void;
/** Frames all chunks; waits for `drained` after each. */
type Frame = (chunks: readonly Buffer[], onLine: OnLine, drained: () => Promise<void> | undefined) => Promise<void>;

/** What a node of the corpus has sent, over and over, with ids that go on. */
function toChunks(): Buffer[] {
  const recorded = readFileSync(new URL('../corpus/litefs-events/primary.ndjson', import.meta.url), 'utf8');
  const lines = recorded.split('\n').filter((line) => line.includes('"type":"tx"'));
  let text = '';
  for (let id = 1; id <= TRANSACTIONS; id += 1) {
    const line = lines[id % lines.length] ?? '';
    text += `${line.replace(/"txID":"[0-9a-f]{16}"/, `"txID":"${id.toString(16).padStart(16, '0')}"`)}\n`;
  }
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES)
    chunks.push(bytes.subarray(start, start + CHUNK_BYTES));
  return chunks;
}

const own: Frame = async (chunks, onLine, drained) => {
  const framer = createLineFramer();
  let turn_ms = performance.now();
  for (const chunk of chunks) {
    for (const slice of toLineSlices(chunk)) {
      framer.push(slice, onLine);
      await drained();
      if (performance.now() - turn_ms < SLICE_MS) continue;
      await setImmediate();
      turn_ms = performance.now();
    }
  }
};

/** A stream that others read is the way in which the package is meant to be used. */
const streamed: Frame = async (chunks, onLine, drained) => {
  const source = new PassThrough({ highWaterMark: 2 * CHUNK_BYTES });
  const lines = source.pipe(split2({ maxLength: LINE_LIMIT_BYTES }));
  void (async () => {
    for (const chunk of chunks) if (!source.write(chunk)) await new Promise((resolve) => source.once('drain', resolve));
    source.end();
  })();
  let turn_ms = performance.now();
  for await (const line of lines) {
    onLine(line);
    await drained();
    if (performance.now() - turn_ms < SLICE_MS) continue;
    await setImmediate();
    turn_ms = performance.now();
  }
};

/** No stream stands behind it: each line goes to its mapper, which keeps none. */
const mapped: Frame = async (chunks, onLine, drained) => {
  const lines = split2((line: string) => onLine(line), { maxLength: LINE_LIMIT_BYTES });
  let turn_ms = performance.now();
  for (const chunk of chunks) {
    if (!lines.write(chunk)) await new Promise((resolve) => lines.once('drain', resolve));
    await drained();
    if (performance.now() - turn_ms < SLICE_MS) continue;
    await setImmediate();
    turn_ms = performance.now();
  }
};

const framings: readonly (readonly [name: string, frame: Frame])[] = [
  ['own framing', own],
  ['split2 as a stream', streamed],
  ['split2 with a mapper', mapped],
];

async function frameOnly(chunks: readonly Buffer[], frame: Frame): Promise<number> {
  let lines = 0;
  await frame(
    chunks,
    () => {
      lines += 1;
    },
    () => undefined,
  );
  return lines;
}

/** Fills the replica and the cache, with the cache's back-pressure, until all is on disk. */
async function record(chunks: readonly Buffer[], frame: Frame): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'rem-framing-'));
  const replica = createReplica(0);
  const cache = await openCacheWriter({
    clock: systemClock,
    link: createCacheThread(join(dir, 'replication.db')),
    current: () => replica.entries,
    onRestored: () => undefined,
    onCondition: () => undefined,
  });
  let lines = 0;
  const onLine = (line: string) => {
    const parsed = parseStreamLine(line);
    if (parsed.type !== 'event' || parsed.event.type !== 'tx') throw new Error(`not a transaction: ${line}`);
    const step = replica.apply(parsed.event, Date.now());
    if (step !== undefined) cache.add([{ type: 'tx', db: parsed.event.db, entry: step.entry }]);
    lines += 1;
  };
  await frame(chunks, onLine, () => cache.drained());
  await cache.flush();
  await cache[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true });
  return lines;
}

const chunks = toChunks();
for (const [title, run, bar] of [
  ['framed only', frameOnly, undefined],
  ['framed, parsed and recorded on disk', record, BAR],
] as const) {
  const rates = new Map<string, number[]>(framings.map(([name]) => [name, []]));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [name, frame] of framings) {
      const begun_ms = performance.now();
      const lines = await run(chunks, frame);
      if (lines !== TRANSACTIONS) throw new Error(`${name}: ${lines} lines instead of ${TRANSACTIONS}`);
      // The first round warms up.
      if (round > 0) rates.get(name)?.push((lines / (performance.now() - begun_ms)) * 1_000);
    }
  }
  const figures: Figure[] = Array.from(rates, ([what, values]) => {
    const rate = percentile(values, 0.5);
    const value = `${Math.round(rate).toLocaleString('en-US')} transactions/s`;
    return bar === undefined ? { what, value } : { what, value, bar: '100,000/s', met: rate >= bar };
  });
  printTable(`${title}, median of ${ROUNDS} rounds`, figures);
}

const pieces = Array.from({ length: Math.floor(LINE_LIMIT_BYTES / PIECE_BYTES) - 1 }, () =>
  Buffer.alloc(PIECE_BYTES, 'x'),
);
const costs: Figure[] = [];
for (const [what, frame] of framings) {
  const before = process.cpuUsage();
  await frame(
    pieces,
    () => undefined,
    () => undefined,
  );
  const { user, system } = process.cpuUsage(before);
  costs.push({ what, value: `${Math.round((user + system) / 1_000).toLocaleString('en-US')} ms of CPU` });
}
printTable(`a line of 1 MiB in pieces of ${PIECE_BYTES} bytes`, costs);
