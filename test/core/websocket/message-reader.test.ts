// The short messages of a stream are read however it is cut, and everything else is skipped.
import { expect, test } from 'vitest';
import { MessageReader } from '../../../src/core/websocket/message-reader.ts';

const FIN = 0x80;
const MASK = Buffer.from([1, 2, 3, 250]);

function frame(first: number, payload: Buffer, isMasked = false): Buffer {
  const { length } = payload;
  const mark = isMasked ? 0x80 : 0;
  const size =
    length < 126
      ? Buffer.from([mark | length])
      : length < 65_536
        ? Buffer.from([mark | 126, length >> 8, length & 255])
        : Buffer.from([mark | 127, 0, 0, 0, 0, ...[24, 16, 8, 0].map((shift) => (length >>> shift) & 255)]);
  const body = isMasked ? payload.map((byte, index) => byte ^ (MASK[index & 3] ?? 0)) : payload;
  return Buffer.concat([Buffer.from([first]), size, ...(isMasked ? [MASK] : []), body]);
}

function read(bytes: Buffer, step: number): string[] {
  const seen: string[] = [];
  const reader = new MessageReader({
    textCap_bytes: 300,
    binaryCap_bytes: 2,
    onMessage: (payload, isBinary) => seen.push(`${isBinary ? 'binary' : 'text'} ${payload.toString()}`),
  });
  for (let at = 0; at < bytes.length; at += step) reader.push(bytes.subarray(at, at + step));
  return seen;
}

const stream = Buffer.concat([
  frame(FIN | 1, Buffer.from('short')),
  frame(FIN | 2, Buffer.alloc(70_000, 'x')),
  frame(FIN | 2, Buffer.from('ab')),
  frame(FIN | 2, Buffer.from('abc')),
  frame(FIN | 1, Buffer.from('m'.repeat(300)), true),
  frame(FIN | 1, Buffer.from('m'.repeat(301)), true),
  // One in parts, with a ping between them.
  frame(1, Buffer.from('one '), true),
  frame(FIN | 9, Buffer.from('ping')),
  frame(0, Buffer.alloc(0)),
  frame(FIN, Buffer.from('two'), true),
  // Too long as a whole, and not in its parts.
  frame(1, Buffer.alloc(200)),
  frame(FIN, Buffer.alloc(200)),
  // Compressed.
  frame(FIN | 0x40 | 1, Buffer.from('zip')),
  frame(FIN | 1, Buffer.alloc(0)),
  frame(FIN | 1, Buffer.from('last')),
]);

test.each([1, 2, 3, 7, 64, 70_001, stream.length])('in pieces of %i bytes', (step) => {
  expect(read(stream, step)).toEqual([
    'text short',
    'binary ab',
    `text ${'m'.repeat(300)}`,
    'text one two',
    'text ',
    'text last',
  ]);
});

test('a frame of a length without end keeps nothing', () => {
  const endless = Buffer.concat([Buffer.from([FIN | 1, 127]), Buffer.alloc(8, 0xff), Buffer.alloc(1_000)]);
  expect(read(endless, 100)).toEqual([]);
});
