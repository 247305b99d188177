// Joins small DATA frames of the same stream: reading a frame costs the same whatever its length, so that one byte in each would cost a
// hundred times as much as all in one piece. Frames of different streams may change their order, those of one stream never do.
import { FRAME_MAX_BYTES, frameType } from './frame-allowance.ts';

export const FRAME_HEADER_BYTES = 9;
const JOIN_BELOW_BYTES = 1024;

/** Whether a frame may be joined with others of its stream. */
export function isSmallData(type: number, flags: number, length_bytes: number): boolean {
  return type === frameType.data && flags === 0 && length_bytes < JOIN_BELOW_BYTES;
}

/** `bytes` begins with a header. Its last frame may be cut short where it is not a small one. */
export function joinDataFrames(bytes: Buffer): Buffer {
  // What is joined is never longer than its parts.
  const joined = Buffer.allocUnsafe(bytes.length);
  const small = new Map<number, number[]>();
  let to = 0;

  function flush(): void {
    for (const [stream, ranges] of small) to = writeJoined(bytes, stream, ranges, joined, to);
    small.clear();
  }

  for (let at = 0; at < bytes.length; ) {
    const length_bytes = bytes.readUIntBE(at, 3);
    const type = bytes[at + 3] ?? 0;
    const end = Math.min(bytes.length, at + FRAME_HEADER_BYTES + length_bytes);
    if (isSmallData(type, bytes[at + 4] ?? 0, length_bytes)) {
      const stream = bytes.readUInt32BE(at + 5);
      const ranges = small.get(stream);
      if (ranges === undefined) small.set(stream, [at + FRAME_HEADER_BYTES, end]);
      else ranges.push(at + FRAME_HEADER_BYTES, end);
    } else {
      if (type !== frameType.windowUpdate) flush();
      to += bytes.copy(joined, to, at, end);
    }
    at = end;
  }
  flush();
  return joined.subarray(0, to);
}

/** Writes one frame, or several where one would be too long. Returns the position behind them. */
function writeJoined(bytes: Buffer, stream: number, ranges: readonly number[], joined: Buffer, from: number): number {
  let header = from;
  let to = from + FRAME_HEADER_BYTES;
  const close = () => {
    joined.writeUIntBE(to - header - FRAME_HEADER_BYTES, header, 3);
    joined.writeUInt16BE(frameType.data, header + 3);
    joined.writeUInt32BE(stream, header + 5);
  };
  for (let index = 0; index + 1 < ranges.length; index += 2) {
    const [start = 0, end = 0] = ranges.slice(index, index + 2);
    if (to - header - FRAME_HEADER_BYTES + end - start > FRAME_MAX_BYTES) {
      close();
      header = to;
      to += FRAME_HEADER_BYTES;
    }
    to += bytes.copy(joined, to, start, end);
  }
  close();
  return to;
}
