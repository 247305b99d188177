// One WebSocket frame that comes in small pieces, read as servers of exec, watches and ports read it: by the receiver of ws, which
// its types leave out.
import type { Writable } from 'node:stream';
import * as ws from 'ws';

const { Receiver } = ws as unknown as { Receiver: new (options: object) => Writable };

/** Pushes a masked binary frame with this payload, so many bytes at a time. Returns the lengths of the messages that came of it. */
export function holdFrame(payload: Buffer, piece_bytes: number): readonly number[] {
  const head = Buffer.alloc(14);
  head.set([0x82, 0xff]);
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  head.set([1, 2, 3, 4], 10);
  const frame = Buffer.concat([head, payload]);
  const receiver = new Receiver({ isServer: true, maxPayload: payload.length });
  const lengths: number[] = [];
  receiver.on('message', (message: Buffer) => lengths.push(message.length));
  for (let at = 0; at < frame.length; at += piece_bytes) receiver.write(frame.subarray(at, at + piece_bytes));
  return lengths;
}
