// Frames on their way to what reads them: joined or not, every stream gets its bytes, wherever the reads are cut.

import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { FrameAllowance } from '../../src/core/http/frame-allowance.ts';
import { FrameMeter } from '../../src/core/http/frame-meter.ts';
import { frameTypes, readFrames, toFrame, toWord } from '../support/http2-frames.ts';

const { data, headers, ping, windowUpdate } = frameTypes;

/** What is said on each stream, in its order: bytes one by one, other frames by their type. */
async function read(bytes: Buffer) {
  const said = new Map<number, string>();
  let frames = 0;
  const stream = new PassThrough({ highWaterMark: 1e9 });
  readFrames(stream, ({ type, stream: id, payload }) => {
    frames += 1;
    said.set(id, `${said.get(id) ?? ''}${type === data ? payload : `<${type}>`}`);
  });
  stream.end(Buffer.concat([Buffer.alloc(24), bytes]));
  await new Promise((resolve) => stream.once('end', resolve));
  return { said: Object.fromEntries(said), frames };
}

const parts = Array.from({ length: 3_000 }, (_, index) => {
  if (index % 500 === 99) return toFrame(headers, 4, 1 + 2 * (index % 4), 'h');
  if (index % 500 === 199) return toFrame(data, 0, 3, Buffer.alloc(1_100, 'L'));
  if (index % 500 === 299) return toFrame(data, 1, 7, 'end');
  if (index % 50 === 7) return toFrame(windowUpdate, 0, 0, toWord(1));
  return toFrame(data, 0, 1 + 2 * (index % 4), String.fromCharCode(97 + (index % 26)));
});
const all = Buffer.concat(parts);

test.each([1, 7, 10, 64, 1_000, 8_192, 65_536])('in reads of %i bytes', async (size_bytes) => {
  const meter = new FrameMeter(new FrameAllowance(() => 0), expect.unreachable);
  const passed: Buffer[] = [];
  for (let at = 0; at < all.length; at += size_bytes) passed.push(meter.push(all.subarray(at, at + size_bytes)));
  const [whole, metered] = [await read(all), await read(Buffer.concat(passed))];
  expect(metered.said).toEqual(whole.said);
  if (size_bytes >= 8_192) expect(metered.frames).toBeLessThan(whole.frames / 5);
});

test('a joined frame is never longer than any may be', async () => {
  const meter = new FrameMeter(new FrameAllowance(() => 0), expect.unreachable);
  const long = Buffer.concat(Array.from({ length: 60 }, () => toFrame(data, 0, 1, Buffer.alloc(1_000, 'x'))));
  const passed = meter.push(long);
  expect((await read(passed)).said).toEqual({ 1: 'x'.repeat(60_000) });
  for (let at = 0; at < passed.length; at += 9 + passed.readUIntBE(at, 3)) {
    expect(passed.readUIntBE(at, 3)).toBeLessThanOrEqual(16 * 1024);
  }
});

test('too many of a kind are refused once, and time gives room', () => {
  const reasons: string[] = [];
  let now_ms = 0;
  const meter = new FrameMeter(new FrameAllowance(() => now_ms), (reason) => reasons.push(reason));
  const one = toFrame(ping, 0, 0, '12345678');
  for (let count = 0; count < 64; count += 1) meter.push(one);
  now_ms = 500;
  expect(meter.push(one)).toEqual(one);
  expect(reasons).toEqual([]);
  expect(meter.push(Buffer.concat([one, one])).length).toBe(0);
  expect(meter.push(one).length).toBe(0);
  expect(reasons).toEqual(['too many PING']);
});
