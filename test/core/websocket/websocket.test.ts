import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { toCloseCode, toCloseFrame } from '../../../src/core/websocket/close-frame.ts';
import { FrameTrack } from '../../../src/core/websocket/frame-track.ts';
import { findHandshakeKey, isAccepted } from '../../../src/core/websocket/websocket-handshake.ts';

const MASK = Buffer.from([1, 2, 3, 4]);

function frame(length: number, { masked = false, opcode = 2, fin = true } = {}): Buffer {
  const short = length < 126 ? length : length < 65_536 ? 126 : 127;
  const extended = Buffer.alloc(short === 127 ? 8 : short === 126 ? 2 : 0);
  if (short === 126) extended.writeUInt16BE(length);
  if (short === 127) extended.writeBigUInt64BE(BigInt(length));
  const head = Buffer.from([(fin ? 0x80 : 0) | opcode, short | (masked ? 0x80 : 0)]);
  return Buffer.concat([head, extended, masked ? MASK : Buffer.alloc(0), Buffer.alloc(length, 7)]);
}

describe('a track of frames', () => {
  const lengths = [0, 1, 125, 126, 127, 65_535, 65_536];

  it.each(lengths.flatMap((length) => [false, true].map((masked) => [length, masked] as const)))(
    'knows the end of a frame of %i bytes, masked %s, however it is cut',
    (length, masked) => {
      const bytes = frame(length, { masked });
      const cuts = [1, 2, 3, 4, 7, 10, 13, 14, bytes.length - 1].filter((cut) => cut > 0 && cut < bytes.length);
      for (const cut of cuts) {
        const track = new FrameTrack();
        expect(track.atBoundary).toBe(true);
        track.push(bytes.subarray(0, cut));
        expect([cut, track.atBoundary]).toEqual([cut, false]);
        track.push(bytes.subarray(cut));
        expect([cut, track.atBoundary, track.closing]).toEqual([cut, true, false]);
      }
    },
  );

  it('follows many frames in one piece, and byte by byte', () => {
    const bytes = Buffer.concat([
      frame(3),
      frame(0, { opcode: 9 }),
      frame(300, { fin: false }),
      frame(5, { opcode: 0 }),
    ]);
    const whole = new FrameTrack();
    whole.push(bytes);
    expect(whole.atBoundary).toBe(true);
    const single = new FrameTrack();
    let boundaries = 0;
    for (const byte of bytes) {
      single.push(Buffer.from([byte]));
      if (single.atBoundary) boundaries += 1;
    }
    expect(boundaries).toBe(4);
  });

  it('says how much of a piece belongs to the frame that is under way', () => {
    const first = frame(10);
    const track = new FrameTrack();
    expect(track.pushToBoundary(first)).toBe(0);
    track.push(first.subarray(0, 5));
    expect(track.pushToBoundary(first.subarray(5, 8))).toBeUndefined();
    expect(track.pushToBoundary(Buffer.concat([first.subarray(8), frame(4)]))).toBe(first.length - 8);
    expect(track.atBoundary).toBe(true);
  });

  it('sees a close frame, and not one in a payload', () => {
    const track = new FrameTrack();
    track.push(Buffer.concat([Buffer.from([0x82, 2]), Buffer.from([0x88, 0])]));
    expect(track.closing).toBe(false);
    track.push(toCloseFrame(1000, ''));
    expect(track.closing).toBe(true);
  });

  it('never comes to an end of a frame that is longer than numbers go', () => {
    const track = new FrameTrack();
    track.push(Buffer.from([0x82, 127, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]));
    track.push(Buffer.alloc(1_000));
    expect(track.atBoundary).toBe(false);
  });
});

describe('a close frame', () => {
  it('to a client has its code and reason in the open', () => {
    expect(toCloseFrame(1008, 'no')).toEqual(Buffer.from([0x88, 4, 0x03, 0xf0, 0x6e, 0x6f]));
  });

  it('to a server is masked', () => {
    const bytes = [0x88, 0x84, 1, 2, 3, 4, 0x03 ^ 1, 0xf0 ^ 2, 0x6e ^ 3, 0x6f ^ 4];
    expect(toCloseFrame(1008, 'no', MASK)).toEqual(Buffer.from(bytes));
  });

  it('cuts a long reason between two characters', () => {
    const bytes = toCloseFrame(1001, `a${'ü😀'.repeat(40)}`);
    expect(bytes[1]).toBe(bytes.length - 2);
    expect(bytes.length).toBeLessThanOrEqual(127);
    expect(bytes.subarray(4).toString()).toMatch(/^a(ü😀)+ü?$/u);
  });

  it.each([
    ['endpoint_blocked', 1008],
    ['connection_denied', 1008],
    ['unknown_connector', 1008],
    ['shutting_down', 1001],
    ['resuming', 1001],
    ['timeout', 1001],
    ['too_many_requests', 1013],
  ] as const)('for %s has the code %i', (code, expected) => expect(toCloseCode(code)).toBe(expected));
});

describe('a handshake', () => {
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  const good = ['Sec-WebSocket-Key', key, 'Sec-WebSocket-Version', '13'];

  it('of version 13 with one key is one', () => expect(findHandshakeKey(good)).toBe(key));

  it.each([
    ['no key', ['Sec-WebSocket-Version', '13']],
    ['two keys', [...good, 'sec-websocket-key', key]],
    ['a short key', ['Sec-WebSocket-Key', 'abc', 'Sec-WebSocket-Version', '13']],
    ['another version', ['Sec-WebSocket-Key', key, 'Sec-WebSocket-Version', '8']],
    ['no version', ['Sec-WebSocket-Key', key]],
  ])('with %s is none', (_name, headers) => expect(findHandshakeKey(headers)).toBeUndefined());

  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const answer = ['Upgrade', 'WebSocket', 'Sec-WebSocket-Accept', accept];

  it('is accepted by its own answer', () => {
    expect(accept).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
    expect(isAccepted(answer, key)).toBe(true);
  });

  it.each([
    ['nothing', []],
    ['the key itself', ['Upgrade', 'websocket', 'Sec-WebSocket-Accept', key]],
    ['another protocol', ['Upgrade', 'h2c', 'Sec-WebSocket-Accept', accept]],
    ['two answers', [...answer, 'Sec-WebSocket-Accept', accept]],
  ])('is not accepted by %s', (_name, headers) => expect(isAccepted(headers, key)).toBe(false));
});
