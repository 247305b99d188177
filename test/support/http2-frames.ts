// Frames of HTTP/2 written by hand, right and wrong ones, and read off a connection.
import type { Duplex } from 'node:stream';

const PREFACE_BYTES = 24;
const HEADER_BYTES = 9;

export const frameTypes = {
  data: 0,
  headers: 1,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const END_STREAM = 1;
export const END_HEADERS = 4;
export const ACK = 1;

/** `:status 200` and `:status 103` as HPACK. */
export const STATUS_OK = Buffer.from([0x88]);
export const STATUS_HINTS = Buffer.concat([Buffer.from([0x08, 0x03]), Buffer.from('103')]);

export function toFrame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUIntBE(bytes.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, bytes]);
}

/** `number` as four bytes. */
export function toWord(number: number): Buffer {
  const word = Buffer.alloc(4);
  word.writeUInt32BE(number);
  return word;
}

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** Reads what an HTTP/2 client sends: its preface, then frames. */
export function readFrames(socket: Duplex, onFrame: (frame: Frame) => void): void {
  let bytes = Buffer.alloc(0);
  let skip_bytes = PREFACE_BYTES;
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    const skipped = Math.min(skip_bytes, bytes.length);
    skip_bytes -= skipped;
    bytes = bytes.subarray(skipped);
    while (bytes.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + bytes.readUIntBE(0, 3);
      if (bytes.length < end) return;
      const [type = 0, flags = 0] = [bytes[3], bytes[4]];
      onFrame({ type, flags, stream: bytes.readUInt32BE(5), payload: bytes.subarray(HEADER_BYTES, end) });
      bytes = bytes.subarray(end);
    }
  });
}
