// What waits for its readers: a channel that is full is not read any further, goes on when somebody reads, and loses nothing.
import type { ServerHttp2Stream } from 'node:http2';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HELD_BYTES } from '../../src/core/channel-limits.ts';
import { openChannelPair } from '../support/channel-pair.ts';
import { eventually } from '../support/eventually.ts';

const MEGABYTE = 1024 * 1024;
const STREAMS = 100;
/** What is read before the next look, and what a piece takes by the count. */
const SLACK_BYTES = MEGABYTE;

/** Sends a megabyte on each stream. */
function pour(authority: string, stream: ServerHttp2Stream): boolean {
  stream.respond({ ':status': 200 });
  // A stream that nobody reads at this end is reset when the other way is over.
  stream.resume();
  const piece = Buffer.alloc(16 * 1024, authority);
  // One piece at a time: what waits at this end counts against the memory of its own session.
  Readable.from(Array.from({ length: MEGABYTE / piece.length }, () => piece)).pipe(stream);
  return true;
}

test('many streams that nobody reads wait in the machine, and arrive whole when they are read', async () => {
  const { platform } = await openChannelPair({ targets: [pour] });
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, (_, index) => platform.connect(`port:${index + 1}`)),
  );
  for (const stream of streams) stream.end();
  await eventually(() => platform.held_bytes > HELD_BYTES);
  await sleep(200);
  expect(platform.held_bytes).toBeLessThan(HELD_BYTES + SLACK_BYTES);
  const lengths = await Promise.all(
    streams.map(async (stream) => {
      let length_bytes = 0;
      for await (const part of stream as AsyncIterable<Buffer>) length_bytes += part.length;
      return length_bytes;
    }),
  );
  expect(lengths).toEqual(Array.from({ length: STREAMS }, () => MEGABYTE));
  expect(platform.held_bytes).toBe(0);
});

test('pieces count with what they take beside their bytes', async () => {
  const { platform } = await openChannelPair({
    targets: [
      (_authority, stream) => {
        stream.respond({ ':status': 200 });
        let left = 500;
        const one = () => {
          left -= 1;
          if (left === 0 || stream.destroyed) return;
          stream.write('x');
          setImmediate(one);
        };
        one();
        return true;
      },
    ],
  });
  const stream = await platform.connect('port:1');
  await eventually(() => stream.readableLength >= 499);
  expect(platform.held_bytes).toBeGreaterThan(10 * stream.readableLength);
  stream.destroy();
});
